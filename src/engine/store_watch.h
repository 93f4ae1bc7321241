// StoreWatch: notices when the store goes away and when it is back, and tells it once each.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/outcome.h>

#include "system/mutex.h"

namespace semel::engine {

// It is away for as long as deliveries end for its sake, or the source in it does not answer. Safe
// for several threads.
class StoreWatch {
 public:
  StoreWatch(std::string consumer, Observer& observer, Clock& clock)
      : consumer_(std::move(consumer)), observer_(observer), clock_(clock) {}

  using TimePoint = std::chrono::steady_clock::time_point;

  // Looks at how a delivery ended whose batch began then: one that began before the store was away
  // does not say that it is back. Since when they end so, where this one says that it is away.
  std::optional<TimePoint> note(const Outcome& outcome, TimePoint began) SEMEL_EXCLUDES(mutex_);

  // Of a source that is in the store.
  void source_away(const Error& error) SEMEL_EXCLUDES(mutex_);
  void source_back() SEMEL_EXCLUDES(mutex_);

 private:
  void tell_away(const Error& error);
  void tell_back();

  const std::string consumer_;
  Observer& observer_;
  Clock& clock_;
  std::atomic<bool> away_{false};
  system::Mutex mutex_;
  std::optional<TimePoint> since_ SEMEL_GUARDED_BY(mutex_);
  bool source_away_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::engine
