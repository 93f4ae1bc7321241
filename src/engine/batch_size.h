// BatchSize: how many messages the next batch takes. Pure arithmetic; one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>

namespace semel::engine {

// Halved when a batch takes longer than the target, grown slowly while full batches stay well under
// it: a batch is one transaction, and other programs wait for its end.
class BatchSize {
 public:
  BatchSize(std::size_t first, std::size_t max, std::chrono::milliseconds target) noexcept
      : limit_(first < max ? first : max), max_(max), target_(target) {}

  std::size_t limit() const noexcept { return limit_; }
  void ran(std::size_t messages, std::chrono::nanoseconds took) noexcept;

 private:
  std::size_t limit_;
  std::size_t max_;
  std::chrono::nanoseconds target_;
};

}  // namespace semel::engine
