#include "telemetry/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace semel::telemetry {
namespace {

MetricFamily counter() {
  return {"semel_things",
          "Things \"done\"\\ and\nmore.",
          MetricType::kCounter,
          {{{{"consumer", "a"}, {"reason", "say \"no\"\\\n"}}, 3, {}}, {{}, 0.5, {}}}};
}

MetricFamily histogram() {
  return {"semel_seconds",
          "How long.",
          MetricType::kHistogram,
          {{{{"consumer", "a"}}, 0, {{0.001, 0.25}, {1, 2, 4}, 9.5}}}};
}

MetricFamily gauge(double value) {
  return {"semel_level", "A level.", MetricType::kGauge, {{{}, value, {}}}};
}

TEST(Exposition, WritesThePrometheusFormat) {
  const std::vector<MetricFamily> families{counter(), histogram()};
  EXPECT_EQ(exposition(families, MetricsFormat::kPrometheus),
            "# HELP semel_things_total Things \"done\"\\\\ and\\nmore.\n"
            "# TYPE semel_things_total counter\n"
            "semel_things_total{consumer=\"a\",reason=\"say \\\"no\\\"\\\\\\n\"} 3\n"
            "semel_things_total 0.5\n"
            "# HELP semel_seconds How long.\n"
            "# TYPE semel_seconds histogram\n"
            "semel_seconds_bucket{consumer=\"a\",le=\"0.001\"} 1\n"
            "semel_seconds_bucket{consumer=\"a\",le=\"0.25\"} 3\n"
            "semel_seconds_bucket{consumer=\"a\",le=\"+Inf\"} 7\n"
            "semel_seconds_sum{consumer=\"a\"} 9.5\n"
            "semel_seconds_count{consumer=\"a\"} 7\n");
}

TEST(Exposition, WritesOpenMetrics) {
  const std::vector<MetricFamily> families{counter()};
  EXPECT_EQ(exposition(families, MetricsFormat::kOpenMetrics),
            "# HELP semel_things Things \\\"done\\\"\\\\ and\\nmore.\n"
            "# TYPE semel_things counter\n"
            "semel_things_total{consumer=\"a\",reason=\"say \\\"no\\\"\\\\\\n\"} 3\n"
            "semel_things_total 0.5\n"
            "# EOF\n");
}

TEST(Exposition, LeavesOutWhatHasNoSample) {
  const std::vector<MetricFamily> families{{"semel_none", "None.", MetricType::kGauge, {}}};
  EXPECT_EQ(exposition(families, MetricsFormat::kPrometheus), "");
  EXPECT_EQ(exposition(families, MetricsFormat::kOpenMetrics), "# EOF\n");
}

TEST(Exposition, WritesNumbersThatPrometheusReads) {
  const auto text_of = [](double value) {
    const std::vector<MetricFamily> families{gauge(value)};
    const std::string text = exposition(families, MetricsFormat::kPrometheus);
    const auto at = text.rfind(' ');
    return text.substr(at + 1, text.size() - at - 2);
  };
  EXPECT_EQ(text_of(1e15), "1000000000000000");
  EXPECT_EQ(text_of(1764185.25), "1764185.25");
  EXPECT_EQ(text_of(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(text_of(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(text_of(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

}  // namespace
}  // namespace semel::telemetry
