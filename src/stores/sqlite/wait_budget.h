// WaitBudget: a remaining time to wait, counted in the time slept.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace semel::sqlite {

class WaitBudget {
 public:
  using Duration = std::chrono::microseconds;

  // `shortest` and `longest`: the first sleep and the limit to which sleeps grow.
  explicit WaitBudget(Duration whole, Duration shortest = Duration(100),
                      Duration longest = Duration(5'000)) noexcept
      : left_(whole), shortest_(shortest), next_(shortest), longest_(longest) {}

  // Sleeps a little. False where the time is used up.
  bool wait() noexcept {
    if (left_ <= Duration::zero()) return false;
    const Duration now = std::min(next_, left_);
    std::this_thread::sleep_for(now);
    left_ -= now;
    next_ = std::min(next_ * 3 / 2, longest_);
    return true;
  }
  // Short sleeps again, for a new wait.
  void fresh() noexcept { next_ = shortest_; }
  Duration left() const noexcept { return std::max(left_, Duration::zero()); }

 private:
  Duration left_;
  Duration shortest_;
  Duration next_;
  Duration longest_;
};

}  // namespace semel::sqlite
