#include "telemetry/consumer_counters.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <semel/reason.h>

#include "system/utc_clock.h"
#include "telemetry/thread_number.h"

namespace semel::telemetry {

namespace {

using std::chrono::milliseconds;

// Handlers may name reasons of their own: the number of labels stays bounded, and a label is a
// word.
constexpr std::size_t kMostReasons = 200;
constexpr std::size_t kLongestReason = 64;
constexpr std::string_view kOtherReasons = "other";
constexpr std::string_view kNoReason = "unknown";

// A duplicate older than this fraction of the ttl nearly came after its record had gone.
constexpr double kNearTtl = 0.8;

// A dead key that comes again makes no second letter, nor does a message left at its source.
bool makes_letter(const Outcome& outcome) {
  const bool given_up =
      outcome.kind == Outcome::Kind::kDead || outcome.kind == Outcome::Kind::kConflict;
  return given_up && !outcome.closed_before && outcome.settle != Outcome::Settle::kLater;
}

std::int64_t milliseconds_since(std::chrono::system_clock::time_point time) {
  const auto age = std::chrono::system_clock::now() - time;
  return std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(age).count(), 0);
}

bool is_label_letter(char c) { return c > ' ' && c < 0x7F; }

void count_in(std::map<std::string, std::uint64_t, std::less<>>& counts, std::string_view name) {
  if (name.empty()) name = kNoReason;
  if (name.size() > kLongestReason || !std::ranges::all_of(name, is_label_letter)) {
    name = kOtherReasons;
  }
  auto found = counts.find(name);
  if (found == counts.end()) {
    if (counts.size() >= kMostReasons) name = kOtherReasons;
    found = counts.try_emplace(std::string(name), 0).first;
  }
  ++found->second;
}

}  // namespace

std::optional<milliseconds> ConsumerCounters::ttl() const noexcept {
  const std::int64_t kept = ttl_ms_.load(std::memory_order_relaxed);
  return kept == kForEver ? std::nullopt : std::optional(milliseconds(kept));
}

void ConsumerCounters::set_ttl(std::optional<milliseconds> ttl) noexcept {
  ttl_ms_.store(ttl ? ttl->count() : kForEver, std::memory_order_relaxed);
}

ConsumerCounters::Shard& ConsumerCounters::shard() noexcept {
  return shards_[thread_number() % kShards];
}

void ConsumerCounters::count(Shard& shard, std::uint32_t source, Outcome::Kind kind) noexcept {
  const std::size_t at = std::min<std::size_t>(source, kSources - 1);
  shard.deliveries[at][static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
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
    duplicate(cells, milliseconds_since(outcome.completed_at));
  }
  if (outcome.reason == reason::kTooOld && !outcome.closed_before) {
    cells.too_old.fetch_add(1, std::memory_order_relaxed);
  }
  if (makes_letter(outcome)) dead(outcome.reason);
}

void ConsumerCounters::duplicate(Shard& shard, std::int64_t age) noexcept {
  shard.duplicate_age.observe(age);
  const auto kept = ttl();
  if (kept && static_cast<double>(age) > kNearTtl * static_cast<double>(kept->count())) {
    shard.duplicates_near_ttl.fetch_add(1, std::memory_order_relaxed);
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

void ConsumerCounters::letters_expired(std::size_t letters) noexcept {
  letters_expired_.fetch_add(letters, std::memory_order_relaxed);
}

void ConsumerCounters::dead(std::string_view reason) noexcept {
  shard().given_up.fetch_add(1, std::memory_order_relaxed);
  const system::MutexLock lock(mutex_);
  count_in(dead_letters_, reason);
}

void ConsumerCounters::failed(std::string_view where) noexcept {
  const system::MutexLock lock(mutex_);
  count_in(outages_, where);
}

ConsumerCounters::Totals ConsumerCounters::totals() const {
  Totals totals;
  for (const Shard& shard : shards_) {
    for (std::size_t source = 0; source < kSources; ++source) {
      for (std::size_t kind = 0; kind < kOutcomes; ++kind) {
        totals.deliveries[source][kind] +=
            shard.deliveries[source][kind].load(std::memory_order_relaxed);
      }
      totals.effects +=
          shard.deliveries[source][static_cast<std::size_t>(Outcome::Kind::kDone)].load(
              std::memory_order_relaxed);
    }
    totals.held += shard.held.load(std::memory_order_relaxed);
    totals.leases_lost += shard.leases_lost.load(std::memory_order_relaxed);
    totals.given_up += shard.given_up.load(std::memory_order_relaxed);
    totals.duplicates_near_ttl += shard.duplicates_near_ttl.load(std::memory_order_relaxed);
    totals.too_old += shard.too_old.load(std::memory_order_relaxed);
    add_to(totals.duration, shard.duration, kMicrosecondsPerSecond);
    add_to(totals.message_age, shard.message_age, kMillisecondsPerSecond);
    add_to(totals.duplicate_age, shard.duplicate_age, kMillisecondsPerSecond);
    add_to(totals.attempts, shard.attempts, 1);
  }
  totals.letters_expired = letters_expired_.load(std::memory_order_relaxed);
  const system::MutexLock lock(mutex_);
  totals.dead_letters.insert(dead_letters_.begin(), dead_letters_.end());
  totals.outages.insert(outages_.begin(), outages_.end());
  return totals;
}

}  // namespace semel::telemetry
