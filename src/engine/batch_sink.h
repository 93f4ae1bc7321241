// BatchSink: turns a batch's endings into settlements, as they come.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include <semel/strategy.h>

#include "engine/flight.h"

namespace semel::engine {

// Endings are collected for a moment and settled together: one call to the source for many. The
// engine flushes what waits behind a slow handler. Endings of deliveries that must be kept land
// only at the batch's end: until then the strategy may still refer to them.
class BatchSink final : public EndingSink {
 public:
  // `settle` takes what has collected; called by the batch's thread and by the flushing one, never
  // by two at a time.
  using Settle = std::function<void(std::vector<Landing>&)>;
  using Make = std::function<Landing(Delivery&, Outcome&)>;
  // Called after each ending, with nothing locked; may end the sink's life.
  using Told = std::function<void()>;

  BatchSink(Make make, Settle settle, Told told)
      : make_(std::move(make)), settle_(std::move(settle)), told_(std::move(told)) {}

  void ended(Delivery& delivery, Outcome outcome) noexcept override {
    {
      std::lock_guard lock(mutex_);
      Landing landing = make_(delivery, outcome);
      (landing.keep == nullptr ? landings_ : kept_).push_back(landing);
    }
    told_();
  }

  void flush() {
    std::lock_guard lock(mutex_);
    if (!landings_.empty()) settle_(landings_);
  }

  void finish() {
    std::lock_guard lock(mutex_);
    landings_.insert(landings_.end(), kept_.begin(), kept_.end());
    kept_.clear();
    if (!landings_.empty()) settle_(landings_);
  }

 private:
  const Make make_;
  const Settle settle_;
  const Told told_;
  std::mutex mutex_;
  std::vector<Landing> landings_;
  std::vector<Landing> kept_;
};

}  // namespace semel::engine
