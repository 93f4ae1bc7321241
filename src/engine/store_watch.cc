#include "engine/store_watch.h"

#include <semel/reason.h>

namespace semel::engine {

namespace {

Error error_of(const Outcome& outcome) {
  if (outcome.store_error != nullptr) return *outcome.store_error;
  return {ErrorKind::kUnavailable, {}, outcome.error, {}};
}

}  // namespace

std::optional<StoreWatch::TimePoint> StoreWatch::note(const Outcome& outcome, TimePoint began) {
  const bool away = outcome.reason == reason::kStoreUnavailable;
  // Fast path: no lock while the store works.
  if (!away && !away_.load(std::memory_order_relaxed)) return std::nullopt;
  const system::MutexLock lock(mutex_);
  if (away == since_.has_value()) return since_;
  if (!away && began < *since_) return std::nullopt;
  away_ = away;
  if (away) {
    if (!source_away_) tell_away(error_of(outcome));
    since_ = clock_.now();
  } else {
    since_.reset();
    if (!source_away_) tell_back();
  }
  return since_;
}

void StoreWatch::source_away(const Error& error) {
  const system::MutexLock lock(mutex_);
  if (!source_away_ && !since_) tell_away(error);
  source_away_ = true;
}

void StoreWatch::source_back() {
  const system::MutexLock lock(mutex_);
  if (source_away_ && !since_) tell_back();
  source_away_ = false;
}

void StoreWatch::tell_away(const Error& error) {
  observer_.on_trouble(consumer_, kStoreComponent, error, false);
}

void StoreWatch::tell_back() {
  observer_.on_trouble(consumer_, kStoreComponent, Error{ErrorKind::kUnavailable, {}, {}, {}},
                       true);
}

}  // namespace semel::engine
