// TimedStore: measures how long a store's calls take, counts those that fail, and counts what they
// tell: leases that were taken over, records that were swept.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "system/mutex.h"
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
  // Names a consumer; its takeovers are counted from here on.
  void attached(const std::string& consumer, ConsumerNumber number) SEMEL_EXCLUDES(mutex_);
  // Counts the takeovers among them. Takes a lock only where there is one.
  void claimed(std::span<const Claim> claims) noexcept;
  void swept(std::size_t records) noexcept { swept_.fetch_add(records, std::memory_order_relaxed); }
  // With the label `store`, or the consumer. All operations and consumers, so that a rate has a
  // zero to begin from.
  std::vector<MetricFamily> families(const std::string& store) const SEMEL_EXCLUDES(mutex_);

 private:
  struct Calls {
    Buckets<kStoreBounds> durations;
    std::atomic<std::uint64_t> failed{0};
  };
  struct Consumer {
    std::string name;
    std::uint64_t takeovers = 0;
  };
  MetricFamily takeovers() const SEMEL_EXCLUDES(mutex_);
  void took_over(ConsumerNumber consumer) noexcept SEMEL_EXCLUDES(mutex_);

  std::array<Calls, kOperations.size()> calls_;
  std::atomic<std::uint64_t> swept_{0};
  mutable system::Mutex mutex_;
  std::map<ConsumerNumber, Consumer> consumers_ SEMEL_GUARDED_BY(mutex_);
};

// The same store, with its claims, renewals, finishes and transactions measured. `metrics` outlives
// it.
std::unique_ptr<Store> timed(std::unique_ptr<Store> store, StoreMetrics& metrics);

}  // namespace semel::telemetry
