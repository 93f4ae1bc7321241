// How a command ended, as a verdict on its message.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <semel/verdict.h>

#include "core/exec_spec.h"
#include "handlers/exec/process.h"

namespace semel::handlers::exec {

struct Ending {
  enum class Why {
    kItself,
    kTimeout,  // told to end: its time was over
    kStopped,  // told to end for a reason that is not the message's
  };
  Why why = Why::kItself;
  ExitStatus status;
  Bytes output;                      // up to the spec's result_limit
  std::size_t output_size = 0;       // all there was
  std::string_view last_error_text;  // the end of stderr
};

Verdict verdict_of(const core::ExecSpec& spec, Ending ending);

// It was never started, by this errno.
Verdict not_started(const std::string& program, int problem);
// It was never started: its time was over, or it was stopped, while the system had no room for it.
Verdict no_room(std::string_view why);
// True where errno says that the system has no room now, which other commands may give back.
bool is_shortage(int problem) noexcept;

// The last line of `text` that is not blank, cut at a limit; what is not printable becomes \xNN.
std::string last_line(std::string_view text);

}  // namespace semel::handlers::exec
