// SlowService: a service elsewhere, which answers each call after a time of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
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
  // Begins a call, which ends with `completion`.
  void call(BytesView ordering_key, Completion completion);
  // How many calls were due and are answered, or are being answered.
  std::size_t answered() const;
  // How long calls were to take, all of them together.
  double asked_seconds() const;
  // How much later they were answered, but for the time that completions took from this service's
  // thread: that is the caller's.
  double late_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Clock::time_point begun;
    Clock::time_point due;
    Completion completion;
  };
  void serve();
  void take_due(Clock::time_point now, std::vector<Open>& due);

  const std::chrono::microseconds longest_;
  std::string slow_key_;
  std::chrono::microseconds slow_takes_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Open calls, by the tick at which each is due. A heap would take more of the processors' time,
  // which who calls cannot have.
  std::deque<std::vector<Open>> ticks_;
  std::int64_t first_tick_ = 0;  // the next to be looked at
  std::size_t open_ = 0;
  std::uint64_t random_ = 1;
  Clock::time_point answered_from_, answered_until_;  // the last completions
  std::size_t answered_ = 0;
  double asked_seconds_ = 0;
  double late_seconds_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace semel::bench
