#include "sources/kafka/ledger.h"

#include <gtest/gtest.h>

namespace semel::kafka {
namespace {

using Kind = Settlement::Kind;

Arrival numbered(std::int64_t offset) {
  Arrival arrival;
  arrival.payload = std::to_string(offset);
  return arrival;
}

Ledger with(std::initializer_list<std::int64_t> offsets) {
  Ledger ledger;
  for (const std::int64_t offset : offsets) ledger.handed_out(offset, numbered(offset));
  return ledger;
}

TEST(KafkaLedger, CommitsTheContiguousPrefixAndNothingPastIt) {
  Ledger ledger = with({10, 11, 12});
  EXPECT_FALSE(ledger.take_commit().has_value());
  ledger.settle(11, Kind::kAck);
  ledger.settle(12, Kind::kAck);
  EXPECT_FALSE(ledger.take_commit().has_value()) << "10 is open";
  ledger.settle(10, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 13) << "the next to read";
  EXPECT_FALSE(ledger.take_commit().has_value()) << "asked for already";
}

TEST(KafkaLedger, GapsOfCompactionAndTransactionsCountForNothing) {
  Ledger ledger = with({3, 7, 20});
  ledger.settle(3, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 4);
  ledger.settle(7, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 8);
}

TEST(KafkaLedger, AFailedCommitIsAskedForAgain) {
  Ledger ledger = with({0, 1});
  ledger.settle(0, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 1);
  ledger.commit_failed();
  EXPECT_EQ(ledger.take_commit(), 1);
  ledger.committed(1);
  ledger.settle(1, Kind::kGone);
  EXPECT_EQ(ledger.take_commit(), 2);
  ledger.commit_failed();
  EXPECT_TRUE(ledger.to_commit());
}

TEST(KafkaLedger, WhatIsGivenBackComesAgainInOrderAndIsNotSettled) {
  Ledger ledger = with({5, 6, 7});
  EXPECT_TRUE(ledger.settle(7, Kind::kRelease));
  EXPECT_TRUE(ledger.settle(5, Kind::kRelease));
  EXPECT_EQ(ledger.out(), 1U);
  EXPECT_FALSE(ledger.settle(5, Kind::kAck)) << "it is not out";
  EXPECT_EQ(ledger.take_given_back()->payload, "5");
  EXPECT_EQ(ledger.take_given_back()->payload, "7");
  EXPECT_FALSE(ledger.take_given_back().has_value());
  EXPECT_EQ(ledger.out(), 3U);
  EXPECT_TRUE(ledger.settle(5, Kind::kAck));
  EXPECT_EQ(ledger.take_commit(), 6);
}

TEST(KafkaLedger, UnknownAndSettledOffsetsAreIgnored) {
  Ledger ledger = with({1});
  EXPECT_FALSE(ledger.settle(99, Kind::kAck));
  EXPECT_TRUE(ledger.settle(1, Kind::kAck));
  EXPECT_FALSE(ledger.settle(1, Kind::kAck));
  EXPECT_FALSE(ledger.settle(1, Kind::kRelease));
  EXPECT_FALSE(ledger.has_given_back());
}

TEST(KafkaLedger, SpanTellsHowFarOneOpenMessageIsLeftBehind) {
  Ledger ledger = with({1, 2, 900});
  EXPECT_EQ(ledger.span(), 899);
  ledger.settle(1, Kind::kAck);
  EXPECT_EQ(ledger.span(), 898);
  ledger.settle(2, Kind::kAck);
  ledger.settle(900, Kind::kAck);
  EXPECT_EQ(ledger.span(), 0);
  EXPECT_FALSE(ledger.grows(900));
  EXPECT_FALSE(ledger.grows(17)) << "the log was begun anew";
  EXPECT_TRUE(ledger.grows(901));
}

TEST(KafkaLedger, FullIsSoFarBehindTheFirstThatIsOpen) {
  Ledger ledger = with({1, 2, Ledger::kMostBehindOpen});
  EXPECT_FALSE(ledger.full());
  Arrival arrival;
  ledger.handed_out(Ledger::kMostBehindOpen + 1, arrival);
  EXPECT_TRUE(ledger.full());
  ledger.settle(1, Kind::kAck);
  EXPECT_FALSE(ledger.full());
}

}  // namespace
}  // namespace semel::kafka
