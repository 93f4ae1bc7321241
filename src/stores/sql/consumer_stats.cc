#include "stores/sql/consumer_stats.h"

#include <algorithm>

namespace semel::sql {
namespace {

void add_count(StoreStats::Consumer& told, const RecordCount& count) {
  core::note_change(told, count.newest);
  const bool waits =
      count.state == RecordState::kConsuming || count.state == RecordState::kRetrying;
  if (waits) core::note_waiting(told, count.oldest);
  switch (count.state) {
    case RecordState::kConsuming:
      told.consuming += count.rows;
      told.stuck += count.stuck;
      break;
    case RecordState::kRetrying:
      told.retrying += count.rows;
      break;
    case RecordState::kParked:
      told.parked += count.rows;
      break;
    case RecordState::kDead:
    case RecordState::kCompleted:
      told.dead += count.rows;
      break;
  }
}

}  // namespace

StoreStats::Consumer* consumer_in(StoreStats& stats, ConsumerNumber number) noexcept {
  const auto found = std::ranges::find(stats.consumers, number, &StoreStats::Consumer::number);
  return found == stats.consumers.end() ? nullptr : &*found;
}

void note_counts(std::span<const RecordCount> counts, StoreStats& stats) {
  for (const RecordCount& count : counts) {
    if (auto* const told = consumer_in(stats, count.consumer)) add_count(*told, count);
  }
}

void note_running(const std::vector<std::int64_t>& gone, const std::vector<RunRow>& rows,
                  StoreStats& stats) {
  std::int64_t last = 0;
  for (const RunRow& row : rows) {
    const auto [number, pid] = row.instance;
    if (std::ranges::find(gone, number) != gone.end()) continue;
    if (number != last) stats.running_pids.push_back(pid);
    last = number;
    if (auto* const told = consumer_in(stats, row.consumer)) told->running_pids.push_back(pid);
  }
}

}  // namespace semel::sql
