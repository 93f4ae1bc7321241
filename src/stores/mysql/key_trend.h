// KeyTrend: what the last batches tell of the next one's keys.
#pragma once

#include <atomic>

namespace semel::mysql {

// Whether the keys that come to a store are new, as the last ones tell. Any thread.
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
  // Batches without a key that is there, before the next is taken for one.
  static constexpr int kLooks = 4;
  std::atomic<int> looks_{0};
};

}  // namespace semel::mysql
