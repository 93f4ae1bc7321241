#include "operate/rate.h"

#include <gtest/gtest.h>

namespace semel::operate {
namespace {

using namespace std::chrono_literals;

TEST(Rate, IsReadAndWritten) {
  EXPECT_EQ(parse_rate("50/s")->count, 50U);
  EXPECT_EQ(parse_rate("50/s")->time, 1s);
  EXPECT_EQ(parse_rate("3/m")->time, 1min);
  EXPECT_EQ(parse_rate("100/h")->time, 1h);
  for (const char* good : {"50/s", "3/m", "100/h"}) EXPECT_EQ(rate_text(*parse_rate(good)), good);
  for (const char* bad : {"", "50", "/s", "0/s", "-1/s", "50/d", "50/ s", "fast", "1.5/s"}) {
    EXPECT_FALSE(parse_rate(bad)) << bad;
  }
}

TEST(Throttle, KeepsToItsRateWithinShortSpansToo) {
  Throttle throttle(Rate{100, 1s});
  EXPECT_EQ(throttle.most(), 10U);
  const Throttle::Time begun{1h};
  EXPECT_LE(throttle.due(), begun);
  throttle.took(10, begun);
  EXPECT_EQ(throttle.due(), begun + 100ms);
  // After an outage there is no rush.
  throttle.took(10, begun + 1h);
  EXPECT_EQ(throttle.due(), begun + 1h + 100ms);
}

TEST(Throttle, OneAtATimeWhereTheRateIsLow) {
  Throttle throttle(Rate{3, 1min});
  EXPECT_EQ(throttle.most(), 1U);
  throttle.took(1, Throttle::Time{1h});
  EXPECT_EQ(throttle.due(), Throttle::Time{1h} + 20s);
}

TEST(Throttle, WithoutARateItMovesInLargeParts) {
  Throttle throttle(std::nullopt);
  EXPECT_GT(throttle.most(), 100U);
  throttle.took(1'000'000, Throttle::Time{1h});
  EXPECT_LE(throttle.due(), Throttle::Time{1h});
}

}  // namespace
}  // namespace semel::operate
