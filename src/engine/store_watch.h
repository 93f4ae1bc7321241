// StoreWatch: notices when the store becomes unavailable and when it is back, and reports each
// once.
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

// The store counts as unavailable while deliveries end because of it, or the source in it fails.
// Thread-safe.
class StoreWatch {
 public:
  StoreWatch(std::string consumer, Observer& observer, Clock& clock)
      : consumer_(std::move(consumer)), observer_(observer), clock_(clock) {}

  using TimePoint = std::chrono::steady_clock::time_point;

  // Notes how a delivery ended whose batch began at `began`: a success that began before the outage
  // does not prove that the store is back. Returns since when the store is unavailable, if this
  // delivery shows that it is.
  std::optional<TimePoint> note(const Outcome& outcome, TimePoint began) SEMEL_EXCLUDES(mutex_);

  // For a source that is in the store.
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
