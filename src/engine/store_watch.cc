#include "engine/store_watch.h"

#include <semel/reason.h>

namespace semel::engine {

std::optional<std::chrono::steady_clock::time_point> StoreWatch::note(const Outcome& outcome) {
  const bool away = outcome.reason == reason::kStoreUnavailable;
  // The mutex is not taken for every message of a store that is well.
  if (!away && !away_.load(std::memory_order_relaxed)) return std::nullopt;
  std::lock_guard lock(mutex_);
  if (away == since_.has_value()) return since_;
  Error error{ErrorKind::kUnavailable, {}, outcome.error, {}};
  away_ = away;
  if (away) {
    since_ = clock_.now();
  } else {
    since_.reset();
    error.message.clear();
  }
  observer_.on_trouble(consumer_, "store", error, !away);
  return since_;
}

}  // namespace semel::engine
