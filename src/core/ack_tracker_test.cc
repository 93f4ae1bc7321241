#include "core/ack_tracker.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <vector>

namespace semel::core {
namespace {

TEST(AckTracker, NothingIsSettledAtFirst) {
  AckTracker tracker;
  EXPECT_EQ(tracker.prefix(), std::nullopt);
  EXPECT_EQ(tracker.open(), 0U);
  EXPECT_FALSE(tracker.settled(0));
}

TEST(AckTracker, ThePrefixNeverPassesAnOpenPosition) {
  AckTracker tracker;
  for (std::uint64_t position : {10, 11, 15, 20}) tracker.received(position);
  EXPECT_EQ(tracker.open(), 4U);
  EXPECT_TRUE(tracker.settled(11));
  EXPECT_TRUE(tracker.settled(20));
  EXPECT_EQ(tracker.prefix(), std::nullopt);
  EXPECT_TRUE(tracker.settled(10));
  EXPECT_EQ(tracker.prefix(), 11U);
  EXPECT_EQ(tracker.open(), 1U);
  EXPECT_TRUE(tracker.settled(15));
  EXPECT_EQ(tracker.prefix(), 20U);
  EXPECT_EQ(tracker.open(), 0U);
}

TEST(AckTracker, WhatWasNeverReceivedOrSettledBeforeIsIgnored) {
  AckTracker tracker;
  tracker.received(5);
  tracker.received(7);
  EXPECT_FALSE(tracker.settled(6));
  EXPECT_FALSE(tracker.settled(8));
  EXPECT_TRUE(tracker.settled(7));
  EXPECT_FALSE(tracker.settled(7));
  EXPECT_TRUE(tracker.settled(5));
  EXPECT_FALSE(tracker.settled(5));
  EXPECT_EQ(tracker.prefix(), 7U);
}

TEST(AckTracker, PositionsReachToTheEnd) {
  AckTracker tracker;
  tracker.received(0);
  tracker.received(~std::uint64_t{0});
  EXPECT_TRUE(tracker.settled(~std::uint64_t{0}));
  EXPECT_TRUE(tracker.settled(0));
  EXPECT_EQ(tracker.prefix(), ~std::uint64_t{0});
}

TEST(AckTrackerDeathTest, PositionsThatDoNotGrowAbort) {
  AckTracker tracker;
  tracker.received(5);
  EXPECT_DEATH(tracker.received(5), "backwards");
  EXPECT_DEATH(tracker.received(4), "backwards");
  tracker.settled(5);
  EXPECT_DEATH(tracker.received(5), "backwards");
}

// Compared with a model that looks at every position every time.
TEST(AckTracker, AgreesWithANaiveModel) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (int run = 0; run < 200; ++run) {
    AckTracker tracker;
    std::map<std::uint64_t, bool> model;
    std::uint64_t next = random() % 3;
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) {
        tracker.received(next);
        model[next] = false;
        next += 1 + random() % 3;
      } else {
        const std::uint64_t position = random() % (next + 2);
        const auto known = model.find(position);
        const bool expected = known != model.end() && !known->second;
        ASSERT_EQ(tracker.settled(position), expected) << "seed " << seed;
        if (expected) known->second = true;
      }
      std::optional<std::uint64_t> prefix;
      std::size_t open = 0;
      for (const auto& [position, settled] : model) {
        if (!settled) ++open;
        if (settled && open == 0) prefix = position;
      }
      ASSERT_EQ(tracker.prefix(), prefix) << "seed " << seed;
      ASSERT_EQ(tracker.open(), open) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace semel::core
