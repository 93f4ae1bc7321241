// BatchSize: how many messages the next batch takes. Pure; one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>

namespace semel::engine {

// Halved when a batch takes longer than the target, and grown slowly while full batches stay well
// under it: a batch is one transaction, and other programs wait for its end. If a single message
// takes that long, as on a distant or busy server, smaller batches would only be more numerous:
// then batches grow until they take one and a half times the time of one message.
class BatchSize {
 public:
  BatchSize(std::size_t first, std::size_t max, std::chrono::milliseconds target) noexcept
      : limit_(first < max ? first : max), max_(max), target_(target) {}

  std::size_t limit() const noexcept { return limit_; }
  std::size_t largest() const noexcept { return max_; }
  // The longest time that a batch should take.
  std::chrono::nanoseconds target() const noexcept { return target_; }
  void ran(std::size_t messages, std::chrono::nanoseconds took) noexcept;

 private:
  void learn(std::size_t messages, std::chrono::nanoseconds took) noexcept;

  std::size_t limit_;
  std::size_t max_;
  std::chrono::nanoseconds target_;
  std::chrono::nanoseconds floor_{};  // the time of a single message; zero: unknown
};

}  // namespace semel::engine
