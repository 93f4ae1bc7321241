// Charts of deliveries by outcome, as SVG that needs no script.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "telemetry/delivery_history.h"

namespace semel::admin {

struct ChartSize {
  int width = 0;
  int height = 0;
};

// The time span of a chart of so many intervals: the shortest of some round ones that holds all of
// them.
struct ChartSpan {
  std::size_t intervals;
  const char* words;  // "last hour"
};
ChartSpan span_of(std::size_t intervals) noexcept;

// Stacked areas of deliveries a second, newest at the right. `label` is its text alternative.
// Empty text where there are no intervals.
std::string stacked_chart(const std::vector<telemetry::GroupCounts>& intervals, ChartSize size,
                          const std::string& label);

// Deliveries a second in the interval.
double rate_of(const telemetry::GroupCounts& interval) noexcept;
// The greatest rate of an interval, rounded up to a round number.
double scale_of(const std::vector<telemetry::GroupCounts>& intervals) noexcept;

// The sum of several consumers, whose newest intervals are the same.
std::vector<telemetry::GroupCounts> sum_of(
    const std::vector<std::vector<telemetry::GroupCounts>>& all);

}  // namespace semel::admin
