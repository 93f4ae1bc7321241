// TimedStore: measures how long a store's calls take, and counts those that fail.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "telemetry/buckets.h"
#include "telemetry/metric_family.h"

namespace semel::telemetry {

// Upper bounds in microseconds.
inline constexpr std::array<std::int64_t, 13> kStoreBounds{
    100,    500,     1'000,   2'500,     5'000,     10'000,    25'000,
    50'000, 100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};

// Thread-safe.
class StoreMetrics {
 public:
  enum class Operation { kBegin, kClaim, kRenew, kFinish, kQuery, kFlush, kCommit };
  static constexpr std::array<const char*, 7> kOperations{"begin", "claim", "renew", "finish",
                                                          "query", "flush", "commit"};

  void observe(Operation operation, std::chrono::steady_clock::duration took, bool failed) noexcept;
  // With the label `store`. All operations, so that a rate has a zero to begin from.
  std::vector<MetricFamily> families(const std::string& store) const;

 private:
  struct Calls {
    Buckets<kStoreBounds> durations;
    std::atomic<std::uint64_t> failed{0};
  };
  std::array<Calls, kOperations.size()> calls_;
};

// The same store, whose claims, renewals, finishes and transactions are measured. `metrics`
// outlives it.
std::unique_ptr<Store> timed(std::unique_ptr<Store> store, StoreMetrics& metrics);

}  // namespace semel::telemetry
