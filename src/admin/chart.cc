#include "admin/chart.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include "admin/html.h"

namespace semel::admin {

namespace {

using telemetry::DeliveryHistory;
using telemetry::GroupCounts;
using telemetry::kOutcomeGroups;

constexpr double kSeconds = static_cast<double>(DeliveryHistory::kInterval.count());
// Classes of the style sheet, in the order of OutcomeGroup.
constexpr std::array<const char*, kOutcomeGroups> kClasses{"done", "duplicate", "retry", "dead",
                                                           "parked"};

// The areas are stacked: `below` is the sum of the previous ones.
std::string area(const std::vector<GroupCounts>& intervals, std::size_t group,
                 std::vector<double>& below, ChartSize size, double scale) {
  const double step =
      static_cast<double>(size.width) / static_cast<double>(span_of(intervals.size()).intervals);
  const double first = size.width - step * static_cast<double>(intervals.size());
  const auto y = [&](double rate) { return size.height * (1 - std::min(rate / scale, 1.0)); };
  const auto edge = [&](std::size_t i) { return first + step * static_cast<double>(i); };
  const auto rate = [&](std::size_t i) {
    return static_cast<double>(intervals[i][group]) / kSeconds;
  };
  std::string points;
  bool any = false;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const double top = y(below[i] + rate(i));
    any = any || intervals[i][group] > 0;
    points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", edge(i), top, edge(i + 1), top);
  }
  for (std::size_t i = intervals.size(); i-- > 0;) {
    const double bottom = y(below[i]);
    points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", edge(i + 1), bottom, edge(i), bottom);
    below[i] += rate(i);
  }
  if (!any) return {};
  return fmt::format("<polygon class=\"{}\" points=\"{}\"/>", kClasses[group], points);
}

}  // namespace

ChartSpan span_of(std::size_t intervals) noexcept {
  constexpr std::chrono::minutes kShort{5}, kMedium{15};
  const ChartSpan spans[]{{kShort / DeliveryHistory::kInterval, "last 5 minutes"},
                          {kMedium / DeliveryHistory::kInterval, "last 15 minutes"}};
  for (const ChartSpan& span : spans) {
    if (intervals <= span.intervals) return span;
  }
  return {DeliveryHistory::kIntervals, "last hour"};
}

double rate_of(const GroupCounts& interval) noexcept {
  return static_cast<double>(std::accumulate(interval.begin(), interval.end(), std::uint64_t{0})) /
         kSeconds;
}

double scale_of(const std::vector<GroupCounts>& intervals) noexcept {
  double most = 0;
  for (const GroupCounts& interval : intervals) most = std::max(most, rate_of(interval));
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (most <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::string stacked_chart(const std::vector<GroupCounts>& intervals, ChartSize size,
                          const std::string& label) {
  if (intervals.empty()) return {};
  std::string made = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">",
      size.width, size.height, html(label));
  const double scale = scale_of(intervals);
  std::vector<double> below(intervals.size(), 0);
  for (std::size_t group = 0; group < kOutcomeGroups; ++group) {
    made += area(intervals, group, below, size, scale);
  }
  return made + "</svg>";
}

std::vector<GroupCounts> sum_of(const std::vector<std::vector<GroupCounts>>& all) {
  std::size_t longest = 0;
  for (const auto& one : all) longest = std::max(longest, one.size());
  std::vector<GroupCounts> sum(longest);
  for (const auto& one : all) {
    const std::size_t first = longest - one.size();
    for (std::size_t i = 0; i < one.size(); ++i) {
      for (std::size_t group = 0; group < kOutcomeGroups; ++group) {
        sum[first + i][group] += one[i][group];
      }
    }
  }
  return sum;
}

}  // namespace semel::admin
