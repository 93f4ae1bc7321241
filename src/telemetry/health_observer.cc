#include "telemetry/health_observer.h"

#include <algorithm>
#include <chrono>

#include <semel/outcome.h>
#include <semel/reason.h>

#include "system/utc_clock.h"

namespace semel::telemetry {

bool ConsumerHealth::works() const noexcept {
  return std::ranges::all_of(outages, &Outage::harmless);
}

HealthObserver::HealthObserver(const std::vector<std::string>& consumers) {
  const system::MutexLock lock(mutex_);
  for (const std::string& name : consumers) add(name);
}

void HealthObserver::add(std::string_view name) {
  consumers_.emplace_back(std::string(name), newest_.load());
  newest_.store(&consumers_.back(), std::memory_order_release);
}

HealthObserver::Consumer* HealthObserver::find(std::string_view name) const noexcept {
  Consumer* one = newest_.load(std::memory_order_acquire);
  while (one != nullptr && one->name != name) one = one->before;
  return one;
}

void HealthObserver::end_outages(std::string_view consumer) {
  std::erase_if(outages_, [&](const auto& outage) { return outage.first.first == consumer; });
}

void HealthObserver::on_consumer(const ConsumerInfo& consumer) noexcept {
  try {
    const system::MutexLock lock(mutex_);
    end_outages(consumer.name);
    if (Consumer* const known = find(consumer.name)) {
      known->forgotten = false;
    } else {
      add(consumer.name);
    }
  } catch (...) {
    // Without memory for its name its health is not reported; the consumer works all the same.
  }
}

void HealthObserver::forget(std::string_view consumer) {
  const system::MutexLock lock(mutex_);
  end_outages(consumer);
  if (Consumer* const known = find(consumer)) known->forgotten = true;
}

void HealthObserver::on_ended(std::string_view consumer, const Delivery&, const Outcome& outcome,
                              std::chrono::nanoseconds) noexcept {
  // While the store cannot be written no delivery ends: the message comes again.
  if (outcome.reason == reason::kStoreUnavailable) return;
  Consumer* const found = find(consumer);
  if (found == nullptr) return;
  found->last_ended_ms.store(system::utc_now().time_since_epoch().count(),
                             std::memory_order_relaxed);
}

void HealthObserver::on_trouble(std::string_view consumer, std::string_view where,
                                const Error& error, bool mended) noexcept {
  try {
    const system::MutexLock lock(mutex_);
    const std::pair<std::string, std::string> key(consumer, where);
    if (mended) {
      outages_.erase(key);
      return;
    }
    const auto [outage, is_new] = outages_.try_emplace(key);
    if (is_new) {
      outage->second = {key.second, system::utc_now(), {}, where == kFrontComponent};
    }
    outage->second.error = to_string(error);
  } catch (...) {
    // Without memory for its text an outage is not reported; nothing else changes.
  }
}

std::vector<ConsumerHealth> HealthObserver::snapshot() const {
  std::vector<ConsumerHealth> all;
  const system::MutexLock lock(mutex_);
  for (const Consumer& consumer : consumers_) {
    if (consumer.forgotten) continue;
    ConsumerHealth one{consumer.name, {}, std::nullopt};
    const std::int64_t last = consumer.last_ended_ms.load(std::memory_order_relaxed);
    if (last != 0) one.last_ended = UtcTime(std::chrono::milliseconds(last));
    all.push_back(std::move(one));
  }
  for (const auto& [key, outage] : outages_) {
    const auto found = std::ranges::find(all, key.first, &ConsumerHealth::consumer);
    if (found != all.end()) found->outages.push_back(outage);
  }
  return all;
}

}  // namespace semel::telemetry
