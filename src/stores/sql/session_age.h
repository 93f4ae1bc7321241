// SessionAge: whether a session may be replaced because its server only reads.
#pragma once

#include <chrono>

namespace semel::sql {

// A server that another has replaced as primary keeps its sessions: only a new session finds the
// other. A young session is not replaced: while all servers only read, each attempt would connect.
class SessionAge {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SessionAge(Clock::time_point began = Clock::now()) noexcept : began_(began) {}
  bool young() const noexcept { return Clock::now() - began_ < kYoung; }

 private:
  static constexpr std::chrono::milliseconds kYoung{1'000};

  Clock::time_point began_;
};

}  // namespace semel::sql
