#include "core/suspect_group.h"

#include <gtest/gtest.h>

#include <vector>

namespace semel::core {
namespace {

using Kept = std::vector<int>;

TEST(SuspectGroup, AllAreTogetherUntilADeathWasCounted) {
  EXPECT_EQ(first_group({}), 0U);
  EXPECT_EQ(first_group(Kept(1, 0)), 1U);
  EXPECT_EQ(first_group(Kept(5'000, 0)), 5'000U);
}

TEST(SuspectGroup, EachDeathInAGroupMakesTheNextOneSmaller) {
  const std::size_t once = first_group(Kept(5'000, -1));
  EXPECT_GT(once, 1U);
  EXPECT_LT(once, 100U);
  EXPECT_EQ(first_group(Kept(5'000, -2)), 1U);
}

TEST(SuspectGroup, NobodyIsBesideOneThatMustBeAlone) {
  for (const int alone : {-2, 1, 2, 1'000}) {
    EXPECT_EQ(first_group(Kept{alone, 0, 0}), 1U) << alone;
    EXPECT_EQ(first_group(Kept{0, 0, 0, alone, 0}), 3U) << alone;
    EXPECT_EQ(first_group(Kept{0, alone}), 1U) << alone;
  }
}

TEST(SuspectGroup, OneThatComesLateMakesTheGroupNoLargerThanItsOwn) {
  const std::size_t once = first_group(Kept(100, -1));
  for (const std::size_t at : {std::size_t{1}, once - 1, once, once + 1}) {
    Kept kept(200, 0);
    kept[at] = -1;
    EXPECT_EQ(first_group(kept), at < once ? once : at) << at;
  }
}

TEST(SuspectGroup, DeathsInGroupsBlameNobody) {
  EXPECT_EQ(crashes_in_hand(0, 2), -1);
  EXPECT_EQ(crashes_in_hand(-1, 2), -2);
  EXPECT_EQ(crashes_in_hand(-2, 2), -2);
  for (const int kept : {0, -1, -2}) {
    EXPECT_EQ(crashes_in_hand(kept, 1), 1) << kept;
    EXPECT_FALSE(to_give_up(kept, 1)) << kept;
  }
  EXPECT_EQ(crashes_in_hand(1, 1), 2);
  EXPECT_FALSE(to_give_up(2, 3));
  EXPECT_TRUE(to_give_up(3, 3));
}

// A message with many neighbours that kills its process each time, as a broker counts its
// deliveries.
std::int64_t deliveries_until_given_up(int limit) {
  std::int64_t deliveries = 1;  // the ordinary one
  for (int kept = 0;;) {
    ++deliveries;
    if (to_give_up(kept, limit)) return deliveries;
    kept = crashes_in_hand(kept, first_group(Kept(5'000, kept)));
  }
}

TEST(SuspectGroup, ABrokerHasToDeliverOftenEnoughForADeadLetter) {
  for (const int limit : {1, 2, 3, 10, 1'000}) {
    EXPECT_EQ(deliveries_before_given_up(limit), deliveries_until_given_up(limit)) << limit;
    EXPECT_GT(generous_deliveries(limit), deliveries_until_given_up(limit)) << limit;
  }
}

TEST(CrashStep, CountsOnceHoweverOftenItIsAsked) {
  for (const int kept : {0, -1, -2, 1, 7}) {
    for (const std::size_t size : {1U, 2U}) {
      const CrashStep counts{kept, crashes_in_hand(kept, size)};
      const int counted = crashes_after(kept, counts);
      EXPECT_EQ(counted, counts.to);
      EXPECT_EQ(crashes_after(counted, counts), counted);
      EXPECT_EQ(crashes_after(counted, {counted, kept}), kept) << "taken back";
      EXPECT_EQ(crashes_after(counted, {counted, 0}), 0);
    }
  }
}

TEST(CrashStep, CountsOnlyUponWhatWasLookedAt) {
  EXPECT_EQ(crashes_after(0, {1, 2}), 0);
  EXPECT_EQ(crashes_after(-1, {0, 1}), -1);
  EXPECT_EQ(crashes_after(2, {0, 1}), 2);
}

TEST(CrashStep, TakesBackWhatAnotherCountedUponIt) {
  EXPECT_EQ(crashes_after(2, {1, 0}), 0);
  EXPECT_EQ(crashes_after(3, {2, 1}), 1);
  EXPECT_EQ(crashes_after(2, {1, -2}), -2);
  EXPECT_EQ(crashes_after(1, {2, 1}), 1) << "it has been taken back";
  EXPECT_EQ(crashes_after(0, {1, 0}), 0);
  EXPECT_EQ(crashes_after(1, {-1, 0}), 1) << "deaths alone are no part of a group's";
}

}  // namespace
}  // namespace semel::core
