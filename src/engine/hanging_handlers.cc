// Handlers that hang: past their timeout and grace, asked to stop, and still not back. Nothing can
// end them, so this process leaves what they hold, or keep from beginning, to others.
#include <algorithm>

#include "engine/running_engine.h"
#include "system/mutex.h"

namespace semel::engine {

bool RunningEngine::hangs(Running& running, TimePoint at) const {
  if (options_.handler_timeout.count() == 0) return false;
  // While a batch waits for other suspects, the time of its handlers has not begun.
  if (running.sink.waits()) running.progress.store(at, std::memory_order_relaxed);
  return running.progress.load(std::memory_order_relaxed) <=
         at - options_.handler_timeout - options_.grace;
}

// Rows of batches whose handler hangs. They are not extended, so another process may take them.
std::set<SourceTag> RunningEngine::rows_that_hang() {
  std::set<SourceTag> rows;
  const TimePoint at = now();
  const system::MutexLock lock(running_mutex_);
  for (const auto& running : running_) {
    if (!hangs(*running, at)) continue;
    for (const core::TrackedDelivery& delivery : running->batch) {
      rows.insert({delivery.arrival.source, delivery.arrival.tag});
    }
  }
  return rows;
}

// A batch of many slow handlers shows no progress either, so the handlers that hang are counted
// too.
bool RunningEngine::all_hang(std::size_t hanging) {
  const TimePoint at = now();
  const system::MutexLock lock(running_mutex_);
  return hanging > 0 && hanging >= running_.size() &&
         std::ranges::all_of(running_, [&](const auto& running) SEMEL_REQUIRES(running_mutex_) {
           return hangs(*running, at);
         });
}

void RunningEngine::tell_of_hung() {
  if (told_of_hung_.exchange(true)) return;
  parts_.observer->on_trouble(options_.consumer, kHandlerComponent,
                              {ErrorKind::kUnavailable, {}, kHandlerHangs, kHandlerHangsFix},
                              false);
}

void RunningEngine::tell_hung_is_back() {
  if (!told_of_hung_.exchange(false)) return;
  parts_.observer->on_trouble(options_.consumer, kHandlerComponent, {}, true);
}

// True while every handler that runs hangs, and keeps all others from beginning. That has no known
// end, so the messages that wait are released to other processes, and no more are received.
bool RunningEngine::stands_still(std::size_t hanging) {
  const system::MutexLock lock(still_mutex_);
  if (stopping() || has_ended()) return stands_still_;  // the drain gives back what waits
  if (!all_hang(hanging) || !(stands_still_ || in_flight_.all_taken())) {
    go_on();
    return false;
  }
  if (!std::exchange(stands_still_, true)) {
    in_flight_.stand_still(true);
    tell_of_hung();
    sources_.stand_aside(true);
  }
  // The receiving thread may have been about to add some.
  if (const auto rest = in_flight_.withdraw(); !rest.empty()) hand_back(rest);
  return true;
}

void RunningEngine::go_on() {
  if (stopping() || has_ended() || !std::exchange(stands_still_, false)) return;
  in_flight_.stand_still(false);
  sources_.stand_aside(false);
  tell_hung_is_back();
  event_.signal();
}

}  // namespace semel::engine
