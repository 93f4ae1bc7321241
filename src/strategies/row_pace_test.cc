#include "strategies/row_pace.h"

#include <gtest/gtest.h>

namespace semel::strategies {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RowPaceTest : public ::testing::Test {
 protected:
  RowPace::TimePoint at(milliseconds time) const { return RowPace::TimePoint{} + time; }
  // The row rises from 0 to 10 in a second.
  void rise(std::int64_t step = 1) {
    for (int i = 0; i <= 10; ++i) pace_.saw(i * step, at(milliseconds(100) * i));
  }

  RowPace pace_;
  const RowPace::TimePoint end_ = at(seconds(1));
};

TEST_F(RowPaceTest, ARowThatWasNotSeenToRiseHasNone) {
  EXPECT_EQ(pace_.time_to(1, end_), std::nullopt);
  EXPECT_FALSE(pace_.is_behind(1));
  EXPECT_TRUE(pace_.rests(end_));
  pace_.saw(3, at(milliseconds(0)));
  pace_.saw(3, at(milliseconds(500)));
  EXPECT_EQ(pace_.time_to(4, end_), std::nullopt);
  EXPECT_TRUE(pace_.is_behind(4));
  EXPECT_FALSE(pace_.is_behind(3));
}

TEST_F(RowPaceTest, WhatIsLeftIsSoManyVersionsAtItsPace) {
  rise();
  EXPECT_EQ(pace_.time_to(15, end_), milliseconds(500));
  EXPECT_EQ(pace_.time_to(15, end_ + milliseconds(200)), milliseconds(300));
  EXPECT_EQ(pace_.time_to(15, end_ + seconds(2)), milliseconds(0));
  EXPECT_EQ(pace_.time_to(9, end_), milliseconds(0));
}

TEST_F(RowPaceTest, VersionsNeedNotStepByOne) {
  rise(1'000);
  EXPECT_EQ(pace_.time_to(15'000, end_), milliseconds(500));
  pace_.passed(10'000, end_);
  EXPECT_FALSE(pace_.is_behind(11'000)) << "it may be the one that came next";
  EXPECT_TRUE(pace_.is_behind(12'000));
}

TEST_F(RowPaceTest, ARowThatHasPassedAVersionMayHaveTheNext) {
  rise();
  EXPECT_TRUE(pace_.is_behind(11));
  pace_.passed(10, end_);
  EXPECT_FALSE(pace_.is_behind(11));
  EXPECT_TRUE(pace_.is_behind(12));
}

TEST_F(RowPaceTest, AFirstStepThatIsNotKnownLeavesNobodyBehind) {
  pace_.passed(3, end_);
  EXPECT_FALSE(pace_.is_behind(4));
  EXPECT_FALSE(pace_.is_behind(1'000));
}

TEST_F(RowPaceTest, ManyVersionsInOneTransactionAreNoPace) {
  rise();
  for (std::int64_t version = 11; version < 40; ++version) pace_.saw(version, end_);
  EXPECT_EQ(pace_.time_to(44, end_), milliseconds(500));
}

TEST_F(RowPaceTest, ARowWithoutMessagesIsNotSlow) {
  rise();
  const auto later = end_ + std::chrono::hours(5);
  pace_.saw(11, later);
  EXPECT_LE(pace_.time_to(12, later), seconds(2));
}

TEST_F(RowPaceTest, ARowThatDoesNotRiseRests) {
  rise();
  EXPECT_FALSE(pace_.rests(end_ + seconds(1)));
  EXPECT_TRUE(pace_.rests(end_ + seconds(10)));
  pace_.saw(11, end_ + seconds(10));
  EXPECT_FALSE(pace_.rests(end_ + seconds(10)));
}

TEST_F(RowPaceTest, AVersionThatFallsIsNotBelieved) {
  rise();
  pace_.saw(2, end_);
  EXPECT_FALSE(pace_.is_behind(10));
  EXPECT_EQ(pace_.looked(), end_);
}

}  // namespace
}  // namespace semel::strategies
