// StoreWatch: notices when the store goes away and when it is back, and tells it once each.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/outcome.h>

namespace semel::engine {

// Safe for several threads.
class StoreWatch {
 public:
  StoreWatch(std::string consumer, Observer& observer, Clock& clock)
      : consumer_(std::move(consumer)), observer_(observer), clock_(clock) {}

  // Looks at how a delivery ended. Since when the store has been away, where this one says it is.
  std::optional<std::chrono::steady_clock::time_point> note(const Outcome& outcome);

 private:
  const std::string consumer_;
  Observer& observer_;
  Clock& clock_;
  std::atomic<bool> away_{false};
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace semel::engine
