// ConsumerCounters: counts one consumer's deliveries since the process began.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/spi/delivery.h>

#include "system/mutex.h"
#include "telemetry/buckets.h"
#include "telemetry/metric_family.h"

namespace semel::telemetry {

// Upper bounds of durations in microseconds, of ages in milliseconds, of attempts.
inline constexpr std::array<std::int64_t, 15> kDurationBounds{
    1'000,     5'000,     10'000,    25'000,     50'000,     100'000,    250'000,    500'000,
    1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000, 300'000'000};
inline constexpr std::array<std::int64_t, 11> kAgeBounds{
    100,       1'000,     5'000,      10'000,     60'000,     300'000,
    1'800'000, 3'600'000, 21'600'000, 86'400'000, 604'800'000};
inline constexpr std::array<std::int64_t, 12> kDuplicateAgeBounds{
    1'000,      10'000,     60'000,      300'000,     1'800'000,     3'600'000,
    21'600'000, 86'400'000, 259'200'000, 604'800'000, 1'209'600'000, 2'592'000'000};
inline constexpr std::array<std::int64_t, 8> kAttemptBounds{1, 2, 3, 4, 5, 8, 13, 21};

// Thread-safe. Threads count in different shards, so they seldom share a cache line.
class ConsumerCounters {
 public:
  // Sources after this many are counted with the last one.
  static constexpr std::size_t kSources = 4;
  static constexpr std::size_t kOutcomes = 8;

  explicit ConsumerCounters(ConsumerInfo info) : info_(std::move(info)) { set_ttl(info_.ttl); }

  const std::string& name() const noexcept { return info_.name; }
  // As when the consumer first began; its ttl may have changed since.
  const ConsumerInfo& info() const noexcept { return info_; }
  std::optional<std::chrono::milliseconds> ttl() const noexcept;
  void set_ttl(std::optional<std::chrono::milliseconds> ttl) noexcept;

  void ended(const Delivery& delivery, const Outcome& outcome,
             std::chrono::nanoseconds took) noexcept;
  // A message that became a dead letter without a delivery.
  void refused(const Arrival& arrival, std::string_view reason) noexcept;
  void held() noexcept;
  void lease_lost() noexcept;
  void letters_expired(std::size_t letters) noexcept;
  void failed(std::string_view where) noexcept SEMEL_EXCLUDES(mutex_);

  struct Totals {
    std::array<std::array<std::uint64_t, kOutcomes>, kSources> deliveries{};
    std::uint64_t effects = 0;
    std::uint64_t held = 0;
    std::uint64_t leases_lost = 0;
    std::uint64_t given_up = 0;
    std::uint64_t letters_expired = 0;
    std::uint64_t duplicates_near_ttl = 0;
    std::uint64_t too_old = 0;
    HistogramValue duration;       // seconds
    HistogramValue message_age;    // seconds
    HistogramValue duplicate_age;  // seconds
    HistogramValue attempts;
    std::map<std::string, std::uint64_t> dead_letters;  // by reason
    std::map<std::string, std::uint64_t> outages;       // by store or source
  };
  Totals totals() const SEMEL_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kShards = 16;

  struct alignas(64) Shard {
    std::array<std::array<std::atomic<std::uint64_t>, kOutcomes>, kSources> deliveries{};
    std::atomic<std::uint64_t> held{0};
    std::atomic<std::uint64_t> leases_lost{0};
    std::atomic<std::uint64_t> given_up{0};
    std::atomic<std::uint64_t> duplicates_near_ttl{0};
    std::atomic<std::uint64_t> too_old{0};
    Buckets<kDurationBounds> duration;
    Buckets<kAgeBounds> message_age;
    Buckets<kDuplicateAgeBounds> duplicate_age;
    Buckets<kAttemptBounds> attempts;
  };
  Shard& shard() noexcept;
  void duplicate(Shard& shard, std::int64_t age) noexcept;
  void count(Shard& shard, std::uint32_t source, Outcome::Kind kind) noexcept;
  void dead(std::string_view reason) noexcept SEMEL_EXCLUDES(mutex_);

  static constexpr std::int64_t kForEver = -1;

  const ConsumerInfo info_;
  std::atomic<std::int64_t> ttl_ms_{kForEver};
  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> letters_expired_{0};
  mutable system::Mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> dead_letters_ SEMEL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t, std::less<>> outages_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::telemetry
