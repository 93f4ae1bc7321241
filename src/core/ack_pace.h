// AckPace: acknowledgements wait for company, a moment and no longer. Pure: the caller gives the
// time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace semel::core {

// `are_many` from any thread; all else from one.
class AckPace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `prefetch`: the most messages that are out at a time. Acknowledgements that wait must not keep
  // a small one from being used.
  explicit AckPace(std::size_t prefetch) noexcept;
  // `many` wait for no others, fewer for `wait` at most.
  AckPace(std::size_t many, std::chrono::milliseconds wait) noexcept
      : many_(std::max<std::size_t>(many, 1)), wait_(wait) {}

  // So many wait for no others.
  bool are_many(std::size_t waiting) const noexcept { return waiting >= many_; }
  // True where `waiting` are to be sent now. Those that are too few begin to wait.
  bool are_due(std::size_t waiting, Time now) noexcept;
  // The time until which too few wait; none: nothing waits.
  std::optional<Time> due() const noexcept { return due_; }
  // They went with their connection.
  void forget() noexcept { due_.reset(); }

 private:
  const std::size_t many_;
  const std::chrono::milliseconds wait_;
  std::optional<Time> due_;
};

}  // namespace semel::core
