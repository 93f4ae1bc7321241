#include "telemetry/recent_deliveries.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "system/utc_clock.h"
#include "telemetry/thread_number.h"

namespace semel::telemetry {

namespace {

// Longer ones belong in the log.
constexpr std::size_t kLongestError = 1'024;

std::int64_t second_of(UtcTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void set_key(EndedDelivery& ended, BytesView key) {
  ended.key = key.substr(0, RecentDeliveries::kLongestKey);
  ended.key_is_cut = ended.key.size() < key.size();
}

}  // namespace

bool RecentDeliveries::Budget::take(std::int64_t now, int most) noexcept {
  std::int64_t seen = second.load(std::memory_order_relaxed);
  if (seen != now && second.compare_exchange_strong(seen, now, std::memory_order_relaxed)) {
    taken.store(0, std::memory_order_relaxed);
  }
  if (taken.load(std::memory_order_relaxed) >= most) return false;
  return taken.fetch_add(1, std::memory_order_relaxed) < most;
}

void RecentDeliveries::on_ended(std::string_view consumer, const Delivery& delivery,
                                const Outcome& outcome, std::chrono::nanoseconds took) noexcept {
  const UtcTime now = system::utc_now();
  const bool is_done = outcome.kind == Outcome::Kind::kDone;
  const bool taken = is_done ? done_.take(second_of(now), options_.done_of_second)
                             : others_.take(second_of(now), options_.others_of_second);
  if (!taken) {
    leave_out();
    return;
  }
  try {
    EndedDelivery ended;
    ended.at = now;
    ended.consumer = consumer;
    ended.id = delivery.message.key().id;
    set_key(ended, delivery.message.key().text);
    ended.outcome = outcome.kind;
    ended.attempt = outcome.attempt;
    ended.closed_before = outcome.closed_before;
    ended.reason = outcome.reason;
    ended.error = outcome.error.substr(0, kLongestError);
    ended.again_in = outcome.delay;
    if (outcome.completed_at.time_since_epoch().count() != 0) {
      ended.completed_at =
          std::chrono::time_point_cast<std::chrono::milliseconds>(outcome.completed_at);
    }
    ended.partition = delivery.arrival.partition;
    ended.position = delivery.arrival.position;
    ended.took = took;
    keep(std::move(ended));
  } catch (...) {
    // Without memory for it, it is not shown.
    leave_out();
  }
}

void RecentDeliveries::on_refused(std::string_view consumer, const Arrival& arrival,
                                  std::string_view reason, std::string_view error) noexcept {
  const UtcTime now = system::utc_now();
  if (!others_.take(second_of(now), options_.others_of_second)) {
    leave_out();
    return;
  }
  try {
    EndedDelivery ended;
    ended.at = now;
    ended.consumer = consumer;
    ended.outcome = Outcome::Kind::kDead;
    ended.reason = reason;
    ended.error = error.substr(0, kLongestError);
    ended.partition = arrival.partition;
    ended.position = arrival.position;
    keep(std::move(ended));
  } catch (...) {
    leave_out();
  }
}

void RecentDeliveries::leave_out() noexcept {
  left_out_[thread_number() % kCounts].endings.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t RecentDeliveries::left_out() const noexcept {
  std::uint64_t sum = 0;
  for (const Count& count : left_out_) sum += count.endings.load(std::memory_order_relaxed);
  return sum;
}

void RecentDeliveries::keep(EndedDelivery ended) {
  const auto kept = std::make_shared<EndedDelivery>(std::move(ended));
  Pointer oldest;  // its memory is freed without the lock
  const system::MutexLock lock(mutex_);
  kept->number = ++last_;
  kept_.push_back(kept);
  if (kept_.size() <= options_.kept) return;
  oldest = std::move(kept_.front());
  kept_.pop_front();
}

std::vector<RecentDeliveries::Pointer> RecentDeliveries::of(const KeyId& id) const {
  return find(std::numeric_limits<std::size_t>::max(),
              [&](const EndedDelivery& one) { return one.id == id; });
}

}  // namespace semel::telemetry
