// HealthObserver: present outages, and when a delivery last ended, for each consumer.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <optional>

#include <semel/observer.h>

#include "base/iso_time.h"
#include "system/mutex.h"

namespace semel::telemetry {

struct Outage {
  std::string component;  // "store", or the name of a source
  UtcTime since;
  std::string error;      // with its code and its fix
  bool harmless = false;  // the consumer works without it
};

struct ConsumerHealth {
  std::string consumer;
  std::vector<Outage> outages;  // the present ones
  std::optional<UtcTime> last_ended;

  // No outage prevents it from working.
  bool works() const noexcept;
};

// Thread-safe.
class HealthObserver final : public Observer {
 public:
  explicit HealthObserver(const std::vector<std::string>& consumers);

  // The consumer begins, perhaps again: its earlier outages are over.
  void on_consumer(const ConsumerInfo& consumer) noexcept override SEMEL_EXCLUDES(mutex_);
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override SEMEL_EXCLUDES(mutex_);

  // Stops reporting it, until it begins again.
  void forget(std::string_view consumer) SEMEL_EXCLUDES(mutex_);

  // In the order of the names given at construction; then those that began later.
  std::vector<ConsumerHealth> snapshot() const SEMEL_EXCLUDES(mutex_);

 private:
  struct Consumer {
    Consumer(std::string n, Consumer* b) : name(std::move(n)), before(b) {}
    const std::string name;
    Consumer* const before;
    std::atomic<std::int64_t> last_ended_ms{0};  // since 1970; 0: never
    std::atomic<bool> forgotten{false};
  };
  Consumer* find(std::string_view name) const noexcept;
  void add(std::string_view name) SEMEL_REQUIRES(mutex_);
  void end_outages(std::string_view consumer) SEMEL_REQUIRES(mutex_);

  mutable system::Mutex mutex_;
  std::deque<Consumer> consumers_ SEMEL_GUARDED_BY(mutex_);
  // The end of a list that only grows, so it is read without a lock.
  std::atomic<Consumer*> newest_{nullptr};
  // By consumer and component.
  std::map<std::pair<std::string, std::string>, Outage> outages_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::telemetry
