// ReplayCounters: what replays of dead letters came to, as this process made them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <semel/admin/records.h>

#include "system/mutex.h"
#include "telemetry/metric_family.h"

namespace semel::telemetry {

// Thread-safe.
class ReplayCounters {
 public:
  static constexpr std::array<const char*, 4> kResults{"replayed", "skipped_completed",
                                                       "skipped_conflict", "gone"};

  // Counts them from zero, so that a rate has something to begin from. May throw std::bad_alloc.
  void add(const std::vector<std::string>& consumers) SEMEL_EXCLUDES(mutex_);
  // A count that finds no memory is lost.
  void note(const std::string& consumer, ReplayReport::Result result) noexcept
      SEMEL_EXCLUDES(mutex_);

  MetricFamily family() const SEMEL_EXCLUDES(mutex_);

 private:
  using Counts = std::array<std::uint64_t, kResults.size()>;
  mutable system::Mutex mutex_;
  std::map<std::string, Counts> counts_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::telemetry
