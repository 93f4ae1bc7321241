// PurgePace: how often a run looks for what is past its time, and how long it takes for it.
#pragma once

#include <algorithm>
#include <chrono>

namespace semel::compose {

// Asked once a turn, which comes every kTurn. Where one purge does not come to the end the next
// follows at the next turn with twice the time: what is due grows with what is handled, so a share
// that never grew would fall behind, and one that began large would slow every run down.
class PurgePace {
 public:
  static constexpr std::chrono::milliseconds kTurn{1'000};
  static constexpr std::chrono::milliseconds kFirst{20};
  // A small part of kTurn: a purge leaves most of the time to messages.
  static constexpr std::chrono::milliseconds kMost{200};
  static constexpr int kTurnsBetween = 30;

  // The time for a purge at this turn; zero: none.
  std::chrono::milliseconds turn() noexcept {
    if (more_) return budget_;
    left_ = left_ == 0 ? kTurnsBetween - 1 : left_ - 1;
    return left_ == 0 ? budget_ : std::chrono::milliseconds(0);
  }
  // What that purge said: the time ended first.
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
