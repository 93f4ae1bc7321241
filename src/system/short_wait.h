// ShortWait: looks for an answer a while before its thread goes to sleep for it, where answers have
// come that soon.
//
// To be woken costs more than a server near by needs for one message: tens of microseconds, above
// all on a virtual machine. Where answers take longer it hardly ever looks. Not for several
// threads.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace semel::system {

class ShortWait {
 public:
  // For how long it looks; whoever else wants the processor has it meanwhile.
  static constexpr std::chrono::microseconds kLongest{100};

  // True as soon as `there()` says so; false where it is time to sleep.
  template <class There>
  bool look(There there) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + kLongest;
    return look(std::move(there), [end] {
      ::sched_yield();
      return Clock::now() < end;
    });
  }
  // The same for as long as `goes_on()` says so, which is asked before each look but the first.
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

  // Without credit now and then all the same: the server may have become faster.
  bool worth_it() noexcept { return credit_ > 0 || ++slept_ % kAskAgainAfter == 0; }

  int credit_ = kMostCredit;
  unsigned slept_ = 0;
};

}  // namespace semel::system
