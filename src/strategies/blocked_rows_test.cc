#include "strategies/blocked_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace semel::strategies {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Known = BlockedRows::Known;

RecordedStatement statement(const char* sql, std::vector<Value> values) {
  RecordedStatement one;
  one.statement = admit_statement(sql).value();
  one.values = std::move(values);
  return one;
}
RecordedStatement booked(std::int64_t amount, std::int64_t account) {
  return statement("UPDATE account SET balance = balance + ? WHERE id = ?", {amount, account});
}

class BlockedRowsTest : public ::testing::Test {
 protected:
  // The answer for a message that has not looked before.
  BlockedRows::Answer answer(const StatementList& statements) {
    std::set<LockName> looks;
    return rows_.ask(statements, nullptr, looks, now_);
  }
  Known ask(const StatementList& statements) { return answer(statements).known; }

  milliseconds block(const RecordedStatement& statement) {
    return rows_.add(statement, {statement}, now_);
  }

  BlockedRows rows_;
  BlockedRows::TimePoint now_ = BlockedRows::TimePoint() + std::chrono::hours(1);
};

TEST_F(BlockedRowsTest, MessagesOfTheRowWaitAndOthersDoNot) {
  EXPECT_FALSE(rows_.any_of_late(now_));
  const milliseconds wait = block(booked(5, 1));
  EXPECT_GT(wait, milliseconds(0));
  EXPECT_TRUE(rows_.any_of_late(now_));
  const auto told = answer({booked(9, 2), booked(7, 1)});
  EXPECT_EQ(told.known, Known::kBlocked);
  EXPECT_EQ(told.wait, wait);
  EXPECT_EQ(ask({booked(9, 2)}), Known::kNothing);
  EXPECT_EQ(ask({}), Known::kNothing);
}

TEST_F(BlockedRowsTest, OneMessageLooksAgainAtATime) {
  now_ += block(booked(5, 1));
  EXPECT_EQ(ask({booked(5, 1)}), Known::kLooksAgain);
  EXPECT_EQ(ask({booked(5, 1)}), Known::kBlocked);
  // The message that looked has never reported its result.
  now_ += seconds(2);
  EXPECT_EQ(ask({booked(6, 1)}), Known::kLooksAgain);
}

TEST_F(BlockedRowsTest, WhoIsBlockedElsewhereDoesNotLook) {
  now_ += block(booked(5, 1));
  block(booked(5, 2));
  EXPECT_EQ(ask({booked(5, 1), booked(5, 2)}), Known::kBlocked);
  EXPECT_EQ(ask({booked(5, 1)}), Known::kLooksAgain);
}

TEST_F(BlockedRowsTest, WaitsGrowToSomeSeconds) {
  milliseconds before = block(booked(5, 1));
  for (int i = 0; i < 10; ++i) {
    now_ += before;
    const milliseconds wait = block(booked(5, 1));
    EXPECT_TRUE(wait > before || wait == seconds(5)) << wait.count();
    before = wait;
  }
  EXPECT_EQ(before, seconds(5));
}

TEST_F(BlockedRowsTest, WhoLooksAsksForTheRowAgain) {
  now_ += block(booked(5, 1));
  std::set<LockName> looks;
  EXPECT_EQ(rows_.ask({booked(5, 1)}, nullptr, looks, now_).known, Known::kLooksAgain);
  EXPECT_EQ(rows_.ask({booked(5, 1)}, nullptr, looks, now_).known, Known::kNothing);
  block(booked(5, 2));
  EXPECT_EQ(rows_.ask({booked(5, 1), booked(5, 2)}, nullptr, looks, now_).known, Known::kBlocked);
}

TEST_F(BlockedRowsTest, ARowThatWasLookedAtIsFree) {
  now_ += block(booked(5, 1));
  std::set<LockName> looks;
  rows_.ask({booked(8, 1)}, nullptr, looks, now_);
  rows_.forget(looks);
  EXPECT_EQ(ask({booked(5, 1)}), Known::kNothing);
  EXPECT_TRUE(rows_.any_of_late(now_));
  EXPECT_FALSE(rows_.any_of_late(now_ + std::chrono::minutes(1)));
}

TEST_F(BlockedRowsTest, WhatIsBehindInARowsVersionsWaits) {
  RecordedStatement first = statement("SELECT version FROM bill WHERE id = ?", {std::int64_t{3}});
  RecordedStatement second = first;
  first.version = RowVersion{LockName{{1}}, 0};
  second.version = RowVersion{LockName{{1}}, 1};
  rows_.add(booked(5, 1), {first, booked(5, 1)}, now_);
  EXPECT_EQ(ask({second, booked(5, 2)}), Known::kBlocked);
}

TEST_F(BlockedRowsTest, OneNamedLockIsOneRow) {
  RecordedStatement one = booked(1, 7);
  one.lock = LockName{{2}};
  RecordedStatement other = booked(2, 8);
  other.lock = LockName{{2}};
  block(one);
  EXPECT_EQ(ask({other}), Known::kBlocked);
}

}  // namespace
}  // namespace semel::strategies
