// The consumers' part of StoreStats, gathered from the tables of any SQL store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <semel/admin/records.h>

#include "core/consumer_times.h"
#include "stores/sql/run_rows.h"

namespace semel::sql {

// Records of one consumer in one state.
struct RecordCount {
  ConsumerNumber consumer{};
  RecordState state{};
  std::size_t rows = 0;
  std::optional<StoreTime> oldest;  // first met
  std::optional<StoreTime> newest;  // changed
  std::size_t stuck = 0;            // consuming, with their lease over
};

// These need the consumers in `stats` first, and ignore rows of other consumers.
StoreStats::Consumer* consumer_in(StoreStats& stats, ConsumerNumber number) noexcept;
void note_counts(std::span<const RecordCount> counts, StoreStats& stats);
// `rows` as returned by RunRows::running; instances in `gone` do not run any more.
void note_running(const std::vector<std::int64_t>& gone, const std::vector<RunRow>& rows,
                  StoreStats& stats);

}  // namespace semel::sql
