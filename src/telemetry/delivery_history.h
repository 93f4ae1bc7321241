// DeliveryHistory: how many deliveries ended in each interval of the last hour, by outcome.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "system/mutex.h"
#include "telemetry/delivery_metrics.h"

namespace semel::telemetry {

// Outcomes as a chart groups them.
enum class OutcomeGroup { kDone, kDuplicate, kRetry, kDead, kParked };
inline constexpr std::size_t kOutcomeGroups = 5;
// kRetry includes busy, kDead conflict, kDone discarded.
OutcomeGroup group_of(Outcome::Kind kind) noexcept;

using GroupCounts = std::array<std::uint64_t, kOutcomeGroups>;

// Thread-safe.
class DeliveryHistory {
 public:
  static constexpr std::chrono::seconds kInterval{10};
  static constexpr std::size_t kIntervals = 360;

  explicit DeliveryHistory(const DeliveryMetrics& metrics) : metrics_(metrics) {}

  // Ends an interval. Call it every kInterval.
  void sample() SEMEL_EXCLUDES(mutex_);

  // Ended intervals of a consumer, oldest first; empty where nothing was sampled.
  std::vector<GroupCounts> intervals(const std::string& consumer) const SEMEL_EXCLUDES(mutex_);

 private:
  struct Consumer {
    GroupCounts last{};  // totals at the end of the newest interval
    std::deque<GroupCounts> intervals;
  };

  const DeliveryMetrics& metrics_;
  mutable system::Mutex mutex_;
  std::map<std::string, Consumer> consumers_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::telemetry
