// MetricFamily: the samples of one metric at one moment, for the exposition formats.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace semel::telemetry {

// Times in metrics are seconds.
inline constexpr double kMillisecondsPerSecond = 1e3;
inline constexpr double kMicrosecondsPerSecond = 1e6;

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType { kCounter, kGauge, kHistogram };

struct HistogramValue {
  std::vector<double> bounds;          // upper bounds, ascending, without +Inf
  std::vector<std::uint64_t> buckets;  // one more than `bounds`; not cumulative
  double sum = 0;
};

struct Sample {
  Labels labels;
  double value = 0;          // of a counter or a gauge
  HistogramValue histogram;  // of a histogram
};

struct MetricFamily {
  std::string name;  // of a counter: without `_total`
  std::string help;
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples;
};

}  // namespace semel::telemetry
