// Maps the end of a command to a verdict on its message.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <semel/verdict.h>

#include "core/exec_spec.h"
#include "handlers/exec/process.h"

namespace semel::handlers::exec {

struct ProcessEnd {
  enum class Why {
    kItself,
    kTimeout,  // asked to end because of its timeout
    kStopped,  // asked to end for a reason other than its message
  };
  Why why = Why::kItself;
  ExitStatus status;
  Bytes output;                      // up to the spec's result_limit
  std::size_t output_size = 0;       // the total
  std::string_view last_error_text;  // the end of stderr
};

Verdict verdict_of(const core::ExecSpec& spec, ProcessEnd end);

// It was never started, because of this errno.
Verdict not_started(const std::string& program, int problem);
// It was never started: its timeout passed, or it was stopped, while the system had no room for it.
Verdict no_room(std::string_view why);
// True where errno means that the system has no room now, and other commands may free some.
bool is_shortage(int problem) noexcept;

// The last line of `text` that is not blank, cut at a limit; unprintable bytes become \xNN.
std::string last_line(std::string_view text);

}  // namespace semel::handlers::exec
