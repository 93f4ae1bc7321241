// The times in a consumer's part of StoreStats, collected while a store reads its rows. Pure.
#pragma once

#include <algorithm>
#include <optional>

#include <semel/admin/records.h>

namespace semel::core {

// Both leave the known value where `time` is nullopt.
inline void note_waiting(StoreStats::Consumer& told, const std::optional<StoreTime>& time) {
  if (time) told.oldest_waiting = std::min(*time, told.oldest_waiting.value_or(*time));
}
inline void note_change(StoreStats::Consumer& told, const std::optional<StoreTime>& time) {
  if (time) told.last_change = std::max(*time, told.last_change.value_or(*time));
}

}  // namespace semel::core
