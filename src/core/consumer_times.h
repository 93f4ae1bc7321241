// The times in a consumer's part of StoreStats, gathered from what a store looks at. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include <semel/admin/records.h>

namespace semel::core {

// Both keep what is known where `time` is none.
inline void note_waiting(StoreStats::Consumer& told, const std::optional<StoreTime>& time) {
  if (time) told.oldest_waiting = std::min(*time, told.oldest_waiting.value_or(*time));
}
inline void note_change(StoreStats::Consumer& told, const std::optional<StoreTime>& time) {
  if (time) told.last_change = std::max(*time, told.last_change.value_or(*time));
}

}  // namespace semel::core
