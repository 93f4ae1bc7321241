// DeliveryMetrics: the counters of all consumers, as metric families.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/observer.h>

#include "system/mutex.h"
#include "telemetry/consumer_counters.h"
#include "telemetry/handler_timer.h"
#include "telemetry/metric_family.h"

namespace semel::telemetry {

// Thread-safe.
class DeliveryMetrics {
 public:
  DeliveryMetrics() = default;
  ~DeliveryMetrics();
  DeliveryMetrics(const DeliveryMetrics&) = delete;
  DeliveryMetrics& operator=(const DeliveryMetrics&) = delete;

  // Names the consumer's sources. Without it, sources are counted under their numbers. An existing
  // consumer continues counting, also with another ttl; with other sources or another handler it
  // begins at zero, as after a restart.
  void add(const ConsumerInfo& consumer) SEMEL_EXCLUDES(mutex_);
  // The consumer's counters, created at first use; they live as long as this object. Takes a lock
  // only to create them. May throw std::bad_alloc.
  ConsumerCounters& of(std::string_view consumer) SEMEL_EXCLUDES(mutex_);

  // The durations of the calls of a consumer's handler of that kind.
  std::shared_ptr<HandlerDurations> handler(const std::string& consumer, std::string_view kind)
      SEMEL_EXCLUDES(mutex_);

  // Deliveries by outcome, of all sources, in the order in which the consumers were added.
  using Outcomes = std::array<std::uint64_t, ConsumerCounters::kOutcomes>;
  std::vector<std::pair<std::string, Outcomes>> outcomes() const;

  // In the order in which the consumers were added.
  std::vector<MetricFamily> families() const SEMEL_EXCLUDES(mutex_);

 private:
  struct Node;
  std::vector<const ConsumerCounters*> all() const;
  ConsumerCounters* find(std::string_view consumer) const noexcept;

  MetricFamily handler_family() const SEMEL_EXCLUDES(mutex_);

  mutable system::Mutex mutex_;
  // By consumer and kind.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<HandlerDurations>> handlers_
      SEMEL_GUARDED_BY(mutex_);
  // A list that only grows, so it is read without a lock.
  std::atomic<Node*> newest_{nullptr};
};

}  // namespace semel::telemetry
