// AckPace: delays acknowledgements for a moment so that they can be sent together. Pure: the caller
// passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace semel::core {

// `are_many` is thread-safe; all else belongs to one thread.
class AckPace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `prefetch`: the most messages that are unacknowledged at a time. A small one must not be used
  // up by delayed acknowledgements.
  explicit AckPace(std::size_t prefetch) noexcept;
  // `many` are sent without delay, fewer are delayed by `wait` at most.
  AckPace(std::size_t many, std::chrono::milliseconds wait) noexcept
      : many_(std::max<std::size_t>(many, 1)), wait_(wait) {}

  // Whether so many are sent without delay.
  bool are_many(std::size_t waiting) const noexcept { return waiting >= many_; }
  // True where `waiting` acknowledgements are to be sent now. Fewer begin to wait.
  bool are_due(std::size_t waiting, Time now) noexcept;
  // When the delayed ones are due; nullopt: none waits.
  std::optional<Time> due() const noexcept { return due_; }
  // They were lost with their connection.
  void forget() noexcept { due_.reset(); }

 private:
  const std::size_t many_;
  const std::chrono::milliseconds wait_;
  std::optional<Time> due_;
};

}  // namespace semel::core
