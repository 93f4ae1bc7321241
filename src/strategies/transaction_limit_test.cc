#include "strategies/transaction_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/waiting.h"

namespace semel::strategies {
namespace {

using std::chrono::milliseconds;
using Met = TransactionLimit::Conflict;

constexpr std::size_t kNoLimit = TransactionLimit::kNoLimit;

// The number of successive transactions that succeed before more may run at a time.
std::size_t calm_until_wider(TransactionLimit& limit) {
  const std::size_t before = limit.limit();
  std::size_t well = 0;
  while (limit.limit() == before) {
    auto place = limit.enter();
    place.went_well(milliseconds(1));
    ++well;
  }
  return well;
}

TEST(TransactionLimit, AtFirstThereIsNone) {
  TransactionLimit limit;
  const auto one = limit.enter();
  const auto other = limit.enter();
  EXPECT_FALSE(one.alone());
  EXPECT_FALSE(other.alone());
  EXPECT_EQ(limit.limit(), kNoLimit);
}

TEST(TransactionLimit, AfterADeadlockTheNextIsAloneOnceTheOthersAreOver) {
  TransactionLimit limit;
  std::atomic<bool> over = false;
  std::thread next;
  {
    const auto survivor = limit.enter();
    limit.met(Met::kDeadlock);
    EXPECT_TRUE(survivor.disturbed());
    EXPECT_EQ(limit.limit(), 1U);
    next = std::thread([&] {
      EXPECT_TRUE(limit.enter().alone());
      EXPECT_TRUE(over.load());
    });
    over = true;
  }
  next.join();
}

TEST(TransactionLimit, GivesBackSlowlyAndMoreSlowlyEachTime) {
  TransactionLimit limit;
  limit.met(Met::kDeadlock);
  const std::size_t first = calm_until_wider(limit);
  EXPECT_EQ(limit.limit(), 2U);
  EXPECT_FALSE(limit.enter().alone());
  limit.met(Met::kDeadlock);
  EXPECT_EQ(limit.limit(), 1U);
  const std::size_t second = calm_until_wider(limit);
  EXPECT_GT(second, first);
  while (limit.limit() != kNoLimit) calm_until_wider(limit);
}

TEST(TransactionLimit, WhatDidNotGoWellGivesNothingBack) {
  TransactionLimit limit;
  limit.met(Met::kDeadlock);
  const std::size_t calm = calm_until_wider(limit);
  TransactionLimit other;
  other.met(Met::kDeadlock);
  for (std::size_t i = 0; i < 2 * calm; ++i) (void)other.enter();
  EXPECT_EQ(other.limit(), 1U);
}

TEST(TransactionLimit, ALongWaitForAStrangerIsTakenBack) {
  TransactionLimit limit;
  limit.met(Met::kLongWait);
  EXPECT_TRUE(limit.enter().alone());
  limit.met_stranger();
  EXPECT_EQ(limit.limit(), kNoLimit);

  limit.met(Met::kLongWait);
  limit.met(Met::kDeadlock);  // the server has found the deadlock by now
  limit.met_stranger();
  EXPECT_EQ(limit.limit(), 1U);
}

TEST(TransactionLimit, ALongWaitThatEndsOnceAloneWasADeadlock) {
  TransactionLimit limit;
  limit.met(Met::kLongWait);
  {
    auto place = limit.enter();
    place.went_well(milliseconds(1));
    place.confirms_deadlock();
  }
  limit.met_stranger();
  EXPECT_EQ(limit.limit(), 1U);
}

TEST(TransactionLimit, WhatGoesWellForAnotherConfirmsNoDeadlock) {
  TransactionLimit limit;
  limit.met(Met::kLongWait);
  limit.enter().went_well(milliseconds(1));
  limit.met_stranger();
  EXPECT_EQ(limit.limit(), kNoLimit);
}

// No other transaction leaves meanwhile to wake the waiting one.
TEST(TransactionLimit, ATransactionThatWaitsGoesOnWhenTheLimitIsLifted) {
  struct Held {
    TransactionLimit::Place place;
  };
  TransactionLimit limit;
  limit.met(Met::kDeadlock);
  std::size_t widest = 1;
  std::size_t calm = 0;
  for (; limit.limit() != kNoLimit; calm = calm_until_wider(limit)) widest = limit.limit();
  limit.met(Met::kDeadlock);
  while (limit.limit() != widest) calm = calm_until_wider(limit);
  for (std::size_t i = 0; i + 1 < calm; ++i) limit.enter().went_well(milliseconds(1));
  ASSERT_EQ(limit.limit(), widest);
  std::vector<std::unique_ptr<Held>> held;
  for (std::size_t i = 0; i < widest; ++i) held.emplace_back(new Held{limit.enter()});
  std::atomic<bool> asks = false;
  std::thread waits([&] {
    asks = true;
    (void)limit.enter();
  });
  ASSERT_TRUE(test::comes_true([&] { return asks.load(); }));
  held.back()->place.went_well(milliseconds(1));
  held.pop_back();
  EXPECT_EQ(limit.limit(), kNoLimit);
  waits.join();
}

TEST(TransactionLimit, WhereItCannotBeAloneItIsOneAtATimeStill) {
  TransactionLimit limit;
  limit.met(Met::kDeadlock);
  limit.cannot_be_alone();
  EXPECT_FALSE(limit.enter().alone());
  EXPECT_EQ(limit.limit(), 1U);
  limit.met(Met::kDeadlock);
  EXPECT_TRUE(limit.enter().alone()) << "it is tried again";
}

TEST(TransactionLimit, PatienceGrowsWithWhatTransactionsTake) {
  TransactionLimit quick;
  TransactionLimit slow;
  for (int i = 0; i < 100; ++i) {
    quick.enter().went_well(milliseconds(1));
    slow.enter().went_well(milliseconds(20));
  }
  EXPECT_LT(quick.row_patience(), slow.row_patience());
  for (int i = 0; i < 100; ++i) slow.enter().went_well(std::chrono::hours(1));
  EXPECT_LT(slow.row_patience(), std::chrono::seconds(1)) << "before PostgreSQL's deadlock_timeout";
}

}  // namespace
}  // namespace semel::strategies
