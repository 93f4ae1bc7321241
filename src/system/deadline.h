// Deadline: bounds every wait of one call, and ends it early when the process is to stop.
#pragma once

#include <array>
#include <chrono>

namespace semel::system {

// One thread at a time.
class Deadline {
 public:
  // Descriptors that become readable when the process is to stop, and stay readable; -1: none.
  using Stops = std::array<int, 2>;
  static constexpr Stops kNoStops = {-1, -1};
  static constexpr std::chrono::milliseconds kNever = std::chrono::milliseconds::max();

  // Once a stop is seen, at most `after_stop` is left.
  Deadline(std::chrono::milliseconds limit, const Stops& stops,
           std::chrono::milliseconds after_stop) noexcept;

  // Waits for one of `events` on `fd`. False: the deadline, or `at_most`, has passed.
  [[nodiscard]] bool wait(int fd, short events,
                          std::chrono::milliseconds at_most = kNever) noexcept;
  bool over() const noexcept { return std::chrono::steady_clock::now() >= end_; }
  // Whether a stop shortened it.
  bool stopped() const noexcept { return stopped_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  Stops stops_;
  std::chrono::milliseconds after_stop_;
  Time end_;
  bool stopped_ = false;
};

}  // namespace semel::system
