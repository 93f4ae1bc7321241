// PurgePace: how often a run purges expired data, and how long a purge may take.
#pragma once

#include <algorithm>
#include <chrono>

namespace semel::compose {

// Asked once a turn, every kTurn. If a purge does not finish, the next follows at the next turn
// with twice the time: expired data grows with the load, so a fixed share would fall behind, and a
// large initial one would slow every run down.
class PurgePace {
 public:
  static constexpr std::chrono::milliseconds kTurn{1'000};
  static constexpr std::chrono::milliseconds kFirst{20};
  // A small fraction of kTurn: a purge leaves most of the time to messages.
  static constexpr std::chrono::milliseconds kMost{200};
  static constexpr int kTurnsBetween = 30;

  // The time for a purge at this turn; zero: none.
  std::chrono::milliseconds turn() noexcept {
    if (more_) return budget_;
    left_ = left_ == 0 ? kTurnsBetween - 1 : left_ - 1;
    return left_ == 0 ? budget_ : std::chrono::milliseconds(0);
  }
  // The purge's result: its time ended first.
  void note(bool more) noexcept {
    more_ = more;
    budget_ = more ? std::min(2 * budget_, kMost) : kFirst;
  }

 private:
  bool more_ = false;
  int left_ = kTurnsBetween;
  std::chrono::milliseconds budget_ = kFirst;
};

}  // namespace semel::compose
