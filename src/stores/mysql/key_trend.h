// KeyTrend: predicts from the last batches whether the next one's keys are new.
#pragma once

#include <atomic>

namespace semel::mysql {

// Whether the next keys are probably new. Thread-safe.
class KeyTrend {
 public:
  bool new_keys() const noexcept { return looks_.load(std::memory_order_relaxed) == 0; }
  void note(bool all_were_new) noexcept {
    if (!all_were_new) {
      looks_.store(kLooks, std::memory_order_relaxed);
    } else if (const int left = looks_.load(std::memory_order_relaxed); left > 0) {
      looks_.store(left - 1, std::memory_order_relaxed);
    }
  }

 private:
  // How many batches without an existing key must pass before the next is assumed new.
  static constexpr int kLooks = 4;
  std::atomic<int> looks_{0};
};

}  // namespace semel::mysql
