// ShortWait: polls for an answer a short while before its thread sleeps, if recent answers came
// that soon.
//
// A wake-up costs more than a near server needs for one message: tens of microseconds, above all on
// a virtual machine. If answers take longer it hardly ever polls. Not thread-safe.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace semel::system {

class ShortWait {
 public:
  // How long it polls, yielding the processor to others meanwhile.
  static constexpr std::chrono::microseconds kLongest{100};

  // True as soon as `there()` is; false when it is time to sleep.
  template <class There>
  bool look(There there) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + kLongest;
    return look(std::move(there), [end] {
      ::sched_yield();
      return Clock::now() < end;
    });
  }
  // The same while `goes_on()` is true, which is asked before each poll except the first.
  template <class There, class GoesOn>
  bool look(There there, GoesOn goes_on) {
    if (there()) return true;
    if (!worth_it()) return false;
    while (goes_on()) {
      if (!there()) continue;
      credit_ = std::min(credit_ + kEarned, kMostCredit);
      return true;
    }
    credit_ = std::max(credit_ - 1, 0);
    return false;
  }

 private:
  static constexpr int kEarned = 2;
  static constexpr int kMostCredit = 8;
  static constexpr unsigned kAskAgainAfter = 64;

  // Occasionally also without credit: the server may have become faster.
  bool worth_it() noexcept { return credit_ > 0 || ++slept_ % kAskAgainAfter == 0; }

  int credit_ = kMostCredit;
  unsigned slept_ = 0;
};

}  // namespace semel::system
