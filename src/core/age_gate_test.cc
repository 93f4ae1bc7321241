#include "core/age_gate.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(AgeLimit, TheMarginIsAnEighthOfTheTtl) {
  const auto limit = age_limit_of(days(8), TooOld::kPark);
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->oldest, days(7));
  EXPECT_FALSE(limit->discards);
  EXPECT_TRUE(age_limit_of(days(8), TooOld::kDiscard)->discards);
}

TEST(AgeLimit, WhereRecordsAreKeptForEverOrAllIsHandledThereIsNone) {
  EXPECT_FALSE(age_limit_of(std::nullopt, TooOld::kPark));
  EXPECT_FALSE(age_limit_of(std::nullopt, TooOld::kDiscard));
  EXPECT_FALSE(age_limit_of(days(8), TooOld::kHandle));
}

TEST(AgeLimit, WithoutTheBrokersTimeThereIsNoAge) {
  Arrival arrival;
  EXPECT_FALSE(has_age(arrival));
  arrival.broker_time = std::chrono::system_clock::time_point(hours(1));
  EXPECT_TRUE(has_age(arrival));
}

TEST(AgeLimit, WhatWaitedInTheStoreUntriedHasOneAndWhatWasTriedHasNone) {
  Arrival held;
  held.broker_time = std::chrono::system_clock::time_point(hours(1));
  held.since_first = milliseconds(0);
  EXPECT_TRUE(has_age(held));
  held.attempts = 1;
  EXPECT_FALSE(has_age(held));
}

TEST(AgeLimit, ItsTextNamesBothTimes) {
  const AgeLimit limit = *age_limit_of(days(7), TooOld::kPark);
  const std::string old = too_old_text(limit, days(9) + minutes(3));
  EXPECT_NE(old.find("9d old"), std::string::npos) << old;
  EXPECT_NE(old.find("kept for 7d"), std::string::npos) << old;
  const std::string young = too_old_text(limit, milliseconds(61'003));
  EXPECT_NE(young.find("61s old"), std::string::npos) << young;
}

}  // namespace
}  // namespace semel::core
