#include "admin/chart.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::admin {
namespace {

using telemetry::GroupCounts;

TEST(Chart, RatesAreOfASecond) {
  EXPECT_DOUBLE_EQ(rate_of({30, 10, 5, 5}), 5);
  EXPECT_DOUBLE_EQ(rate_of({}), 0);
}

TEST(Chart, TheScaleIsARoundNumber) {
  EXPECT_DOUBLE_EQ(scale_of({}), 1);
  EXPECT_DOUBLE_EQ(scale_of({GroupCounts{}}), 1);
  EXPECT_DOUBLE_EQ(scale_of({{100, 0, 0, 0}}), 10);
  EXPECT_DOUBLE_EQ(scale_of({{110, 0, 0, 0}}), 20);
  EXPECT_DOUBLE_EQ(scale_of({{10, 0, 0, 0}, {3'000, 100, 0, 0}}), 500);
  EXPECT_DOUBLE_EQ(scale_of({{90'000, 0, 0, 0}}), 10'000);
  EXPECT_DOUBLE_EQ(scale_of({{1, 0, 0, 0}}), 0.1);
}

TEST(Chart, SumsConsumersFromTheNewestIntervalOn) {
  const auto sum = sum_of({{{1, 0, 0, 0}, {2, 0, 0, 0}}, {{0, 0, 0, 5}}});
  ASSERT_EQ(sum.size(), 2U);
  EXPECT_EQ(sum[0], (GroupCounts{1, 0, 0, 0}));
  EXPECT_EQ(sum[1], (GroupCounts{2, 0, 0, 5}));
  EXPECT_TRUE(sum_of({}).empty());
}

TEST(Chart, StacksOutcomesAndLeavesOutThoseThatDidNotCome) {
  EXPECT_EQ(stacked_chart({}, {100, 10}, "x"), "");
  const std::string chart = stacked_chart({{10, 0, 0, 10}}, {30, 100}, "a \"label\"");
  EXPECT_NE(chart.find("aria-label=\"a &quot;label&quot;\""), std::string::npos) << chart;
  // One interval of 30, at the right. The scale is 2/s, and each group has one half of it.
  EXPECT_NE(chart.find("class=\"done\" points=\"29.0,50.0 30.0,50.0 30.0,100.0 29.0,100.0 \""),
            std::string::npos)
      << chart;
  EXPECT_NE(chart.find("class=\"dead\" points=\"29.0,0.0 30.0,0.0 30.0,50.0 29.0,50.0 \""),
            std::string::npos)
      << chart;
  EXPECT_EQ(chart.find("duplicate"), std::string::npos) << chart;
}

}  // namespace
}  // namespace semel::admin
