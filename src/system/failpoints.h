// Failpoints named by text: "point:kill", "point:kill:3" for the third time it is met,
// "point:stop", "point:stop:2", "point:delay:250" (milliseconds, each time).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <semel/environment.h>
#include <semel/result.h>

namespace semel::system {

struct FailpointSpec {
  enum class Action { kKill, kStop, kDelay };
  std::string point;
  Action action = Action::kKill;
  int on_hit = 1;  // kKill, kStop
  std::chrono::milliseconds delay{0};
};

// kRejected where it is none, or names no point of failpoint::kAll.
Result<FailpointSpec> parse_failpoint(std::string_view text);

// Does to this process what `spec` says. Safe for several threads.
std::unique_ptr<Failpoints> make_failpoints(FailpointSpec spec);

}  // namespace semel::system
