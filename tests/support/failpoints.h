// Failpoints named by text: "point:kill", "point:kill:3" for the third time it is met,
// "point:stop", "point:stop:2", "point:delay:250" (milliseconds, each time).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <semel/environment.h>
#include <semel/result.h>

#include "core/failpoints.h"

namespace semel::test {

struct FailpointSpec {
  enum class Action { kKill, kStop, kDelay };
  std::string point;
  Action action = Action::kKill;
  int on_hit = 1;  // kKill, kStop
  std::chrono::milliseconds delay{0};
};

// kRejected where the text is malformed, or names no point of failpoint::kAll.
Result<FailpointSpec> parse_failpoint(std::string_view text);

// Applies `spec` to this process. Thread-safe.
std::unique_ptr<Failpoints> make_failpoints(FailpointSpec spec);

// Gives system_environment() the failpoint that the environment variable SEMEL_FAILPOINT names;
// none where it is unset. Aborts where it names none that exists: a test must not pass without its
// fault. Only main() calls it, before anything else.
void install_failpoints_from_environment();

}  // namespace semel::test
