// Buckets: the counts of a histogram whose bounds are compile-time constants.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "telemetry/metric_family.h"

namespace semel::telemetry {

// `Bounds`: an ascending std::array of upper bounds, in the observed unit. Thread-safe; counters
// are consistent with each other only while no thread counts.
template <const auto& Bounds>
class Buckets {
 public:
  static constexpr std::size_t kCount = Bounds.size() + 1;

  void observe(std::int64_t value) noexcept {
    std::size_t i = 0;
    while (i < Bounds.size() && value > Bounds[i]) ++i;
    counts_[i].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  std::uint64_t count(std::size_t bucket) const noexcept {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  std::int64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kCount> counts_{};
  std::atomic<std::int64_t> sum_{0};
};

// Adds the counts, with bounds and sum divided by `divisor`.
template <const auto& Bounds>
void add_to(HistogramValue& value, const Buckets<Bounds>& buckets, double divisor) {
  if (value.buckets.empty()) {
    for (const std::int64_t bound : Bounds) {
      value.bounds.push_back(static_cast<double>(bound) / divisor);
    }
    value.buckets.resize(Buckets<Bounds>::kCount);
  }
  for (std::size_t i = 0; i < Buckets<Bounds>::kCount; ++i) value.buckets[i] += buckets.count(i);
  value.sum += static_cast<double>(buckets.sum()) / divisor;
}

template <const auto& Bounds>
HistogramValue histogram_of(const Buckets<Bounds>& buckets, double divisor) {
  HistogramValue value;
  add_to(value, buckets, divisor);
  return value;
}

}  // namespace semel::telemetry
