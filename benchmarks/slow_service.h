// SlowService: a service elsewhere, which answers each call after a time of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/handler.h>

namespace semel::bench {

class SlowService {
 public:
  // Each call takes up to `longest`, evenly.
  explicit SlowService(std::chrono::microseconds longest);
  ~SlowService();
  SlowService(const SlowService&) = delete;
  SlowService& operator=(const SlowService&) = delete;

  // Calls of this ordering key take so long. Before the first call.
  void slow_down(std::string ordering_key, std::chrono::microseconds takes) {
    slow_key_ = std::move(ordering_key);
    slow_takes_ = takes;
  }

  AsyncHandler handler();
  // How long calls were open, all of them together.
  double open_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Clock::time_point due;
    Clock::time_point begun;
    // Move-only things cannot leave a priority queue.
    mutable Completion completion;
    bool operator>(const Open& other) const noexcept { return due > other.due; }
  };
  void serve();

  const std::chrono::microseconds longest_;
  std::string slow_key_;
  std::chrono::microseconds slow_takes_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::uint64_t random_ = 1;
  double open_seconds_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace semel::bench
