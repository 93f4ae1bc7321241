#include "telemetry/consumer_counters.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "system/utc_clock.h"

namespace semel::telemetry {

namespace {

using std::chrono::milliseconds;

// Handlers may name reasons of their own: the number of labels stays bounded.
constexpr std::size_t kMostReasons = 200;
constexpr std::string_view kOtherReasons = "other";
constexpr std::string_view kNoReason = "unknown";

// The address of a thread's own byte tells threads apart.
std::size_t thread_number() noexcept {
  thread_local const char own = 0;
  constexpr unsigned kStackAlignment = 12;
  return reinterpret_cast<std::uintptr_t>(&own) >> kStackAlignment;
}

std::int64_t milliseconds_since(std::chrono::system_clock::time_point time) {
  const auto age = std::chrono::system_clock::now() - time;
  return std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(age).count(), 0);
}

void count_in(std::map<std::string, std::uint64_t, std::less<>>& counts, std::string_view name) {
  if (name.empty()) name = kNoReason;
  auto found = counts.find(name);
  if (found == counts.end()) {
    if (counts.size() >= kMostReasons) name = kOtherReasons;
    found = counts.try_emplace(std::string(name), 0).first;
  }
  ++found->second;
}

}  // namespace

ConsumerCounters::Shard& ConsumerCounters::shard() noexcept {
  return shards_[thread_number() % kShards];
}

void ConsumerCounters::count(Shard& shard, std::uint32_t source, Outcome::Kind kind) noexcept {
  const std::size_t at = std::min<std::size_t>(source, kSources - 1);
  shard.deliveries[at][static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

void ConsumerCounters::received(std::size_t deliveries) noexcept {
  shard().received.fetch_add(deliveries, std::memory_order_relaxed);
}

void ConsumerCounters::ended(const Delivery& delivery, const Outcome& outcome,
                             std::chrono::nanoseconds took) noexcept {
  Shard& cells = shard();
  count(cells, delivery.arrival.source, outcome.kind);
  cells.duration.observe(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  if (outcome.attempt > 0) cells.attempts.observe(outcome.attempt);
  if (delivery.arrival.broker_time) {
    cells.message_age.observe(milliseconds_since(*delivery.arrival.broker_time));
  }
  if (outcome.kind == Outcome::Kind::kDuplicate &&
      outcome.completed_at != std::chrono::system_clock::time_point{}) {
    cells.duplicate_age.observe(milliseconds_since(outcome.completed_at));
  }
  if (outcome.kind == Outcome::Kind::kDead || outcome.kind == Outcome::Kind::kConflict) {
    dead(outcome.reason);
  }
}

void ConsumerCounters::refused(const Arrival& arrival, std::string_view reason) noexcept {
  count(shard(), arrival.source, Outcome::Kind::kDead);
  dead(reason);
}

void ConsumerCounters::held() noexcept { shard().held.fetch_add(1, std::memory_order_relaxed); }

void ConsumerCounters::lease_lost() noexcept {
  shard().leases_lost.fetch_add(1, std::memory_order_relaxed);
}

void ConsumerCounters::dead(std::string_view reason) noexcept {
  const system::MutexLock lock(mutex_);
  count_in(dead_letters_, reason);
}

void ConsumerCounters::failed(std::string_view where) noexcept {
  const system::MutexLock lock(mutex_);
  count_in(outages_, where);
}

ConsumerCounters::Totals ConsumerCounters::totals() const {
  Totals totals;
  std::uint64_t received = 0, ended = 0;
  for (const Shard& shard : shards_) {
    for (std::size_t source = 0; source < kSources; ++source) {
      for (std::size_t kind = 0; kind < kOutcomes; ++kind) {
        const auto count = shard.deliveries[source][kind].load(std::memory_order_relaxed);
        totals.deliveries[source][kind] += count;
        ended += count;
      }
      totals.effects +=
          shard.deliveries[source][static_cast<std::size_t>(Outcome::Kind::kDone)].load(
              std::memory_order_relaxed);
    }
    totals.held += shard.held.load(std::memory_order_relaxed);
    totals.leases_lost += shard.leases_lost.load(std::memory_order_relaxed);
    received += shard.received.load(std::memory_order_relaxed);
    add_to(totals.duration, shard.duration, kMicrosecondsPerSecond);
    add_to(totals.message_age, shard.message_age, kMillisecondsPerSecond);
    add_to(totals.duplicate_age, shard.duplicate_age, kMillisecondsPerSecond);
    add_to(totals.attempts, shard.attempts, 1);
  }
  // Counted one after the other: an end may be seen without its beginning.
  totals.in_flight =
      std::max<std::int64_t>(static_cast<std::int64_t>(received - ended - totals.held), 0);
  const system::MutexLock lock(mutex_);
  totals.dead_letters.insert(dead_letters_.begin(), dead_letters_.end());
  totals.outages.insert(outages_.begin(), outages_.end());
  return totals;
}

}  // namespace semel::telemetry
