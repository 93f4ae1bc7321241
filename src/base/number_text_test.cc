#include "base/number_text.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(NumberText, GroupsDigitsByThree) {
  EXPECT_EQ(grouped_digits(0, ','), "0");
  EXPECT_EQ(grouped_digits(999, ','), "999");
  EXPECT_EQ(grouped_digits(1'234'567, ','), "1,234,567");
  EXPECT_EQ(grouped_digits(12'345, ' '), "12 345");
}

TEST(NumberText, ADurationHasOneUnit) {
  using std::chrono::milliseconds;
  EXPECT_EQ(rough_duration(milliseconds(40)), "40 ms");
  EXPECT_EQ(rough_duration(milliseconds(119'999)), "119 s");
  EXPECT_EQ(rough_duration(milliseconds(120'000)), "2 min");
  EXPECT_EQ(rough_duration(milliseconds(7'200'000)), "2 h");
  EXPECT_EQ(rough_duration(milliseconds(172'800'000)), "2 d");
}

}  // namespace
}  // namespace semel
