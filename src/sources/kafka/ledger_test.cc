#include "sources/kafka/ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

namespace semel::kafka {
namespace {

using Kind = Settlement::Kind;

Ledger with(std::initializer_list<std::int64_t> offsets) {
  Ledger ledger;
  for (const std::int64_t offset : offsets) {
    auto arrival = std::make_unique<Arrival>();
    arrival->payload = std::to_string(offset);
    ledger.handed_out(offset, {nullptr, std::move(arrival)}, 1);
  }
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

TEST(KafkaLedger, TheOldestIsTheFirstThatIsNotSettled) {
  const auto at = [](int seconds) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
  };
  Ledger ledger;
  EXPECT_FALSE(ledger.oldest_sent());
  ledger.handed_out(10, {nullptr, nullptr, at(5)}, 1);
  ledger.handed_out(11, {nullptr, nullptr, at(7)}, 1);
  ledger.handed_out(12, {nullptr, nullptr, at(9)}, 1);
  ledger.settle(11, Kind::kAck);
  EXPECT_EQ(ledger.oldest_sent(), at(5));
  ledger.settle(10, Kind::kLater);
  EXPECT_EQ(ledger.oldest_sent(), at(5)) << "it is given back, and comes again";
  ASSERT_NE(ledger.take_given_back(), nullptr);
  ledger.settle(10, Kind::kAck);
  EXPECT_EQ(ledger.oldest_sent(), at(9));
  ledger.settle(12, Kind::kAck);
  EXPECT_FALSE(ledger.oldest_sent());
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
  EXPECT_EQ(ledger.take_given_back()->copy->payload, "5");
  EXPECT_EQ(ledger.take_given_back()->copy->payload, "7");
  EXPECT_EQ(ledger.take_given_back(), nullptr);
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

// If nothing is open, the next reader starts at the end that was reached.
TEST(KafkaLedger, ThePartitionsEndIsCommittedBehindWhatIsNoRecord) {
  Ledger ledger;
  EXPECT_FALSE(ledger.to_commit());
  EXPECT_TRUE(ledger.met_end(4));
  EXPECT_EQ(ledger.take_commit(), 4) << "nothing but aborted records";
  ledger.handed_out(4, {}, 1);
  EXPECT_TRUE(ledger.met_end(6));
  EXPECT_FALSE(ledger.to_commit()) << "4 is open";
  ledger.settle(4, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 6) << "behind a mark";
  EXPECT_TRUE(ledger.met_end(6));
  EXPECT_FALSE(ledger.to_commit());
  ledger.handed_out(7, {}, 1);
  ledger.handed_out(8, {}, 1);
  ledger.settle(7, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 8);
}

TEST(KafkaLedger, AnEndThatIsNotBehindAllIsOfAnotherLog) {
  Ledger ledger = with({1, 2});
  EXPECT_FALSE(ledger.met_end(2));
  EXPECT_TRUE(ledger.met_end(5));
  EXPECT_FALSE(ledger.met_end(4));
  EXPECT_FALSE(ledger.grows(4)) << "there was no record";
  EXPECT_TRUE(ledger.grows(5));
}

TEST(KafkaLedger, WhereANewGroupBeginsIsCommittedBeforeItsFirstIsSettled) {
  Ledger ledger;
  ledger.begin_at(7);
  ledger.handed_out(7, {}, 1);
  EXPECT_EQ(ledger.take_commit(), 7);
  ledger.begin_at(8);
  ledger.handed_out(8, {}, 1);
  EXPECT_FALSE(ledger.to_commit());
  ledger.settle(7, Kind::kAck);
  EXPECT_EQ(ledger.take_commit(), 8);
}

TEST(KafkaLedger, FullIsSoFarBehindTheFirstThatIsOpen) {
  Ledger ledger = with({1, 2, Ledger::kMostBehindOpen});
  EXPECT_FALSE(ledger.full());
  ledger.handed_out(Ledger::kMostBehindOpen + 1, {}, 1);
  EXPECT_TRUE(ledger.full());
  ledger.settle(1, Kind::kAck);
  EXPECT_FALSE(ledger.full());
}

TEST(KafkaLedger, WhatIsLeftFarBehindIsToBeCopiedOnceUnlessItIsSettled) {
  constexpr std::size_t kPart = Ledger::kMostKept / 4;
  Ledger ledger;
  for (std::int64_t offset = 0; offset < 5; ++offset) ledger.handed_out(offset, {}, kPart);
  EXPECT_EQ(ledger.left_behind(), nullptr) << "as much as is kept";
  ledger.settle(1, Kind::kAck);
  ledger.handed_out(5, {}, 1);
  Kept* const first = ledger.left_behind();
  ASSERT_NE(first, nullptr);
  first->copy = std::make_unique<Arrival>();
  EXPECT_EQ(ledger.left_behind(), nullptr);
  ledger.handed_out(6, {}, 2 * kPart);
  ASSERT_NE(ledger.left_behind(), nullptr) << "2, for 1 is settled";
  EXPECT_EQ(ledger.left_behind(), nullptr);
  ledger.settle(0, Kind::kAck);
  ledger.settle(2, Kind::kAck);
  ledger.handed_out(7, {}, kPart);
  EXPECT_NE(ledger.left_behind(), nullptr) << "3, wherever it stands now";
}

TEST(KafkaLedger, OffsetsAreFoundAcrossGapsWhateverIsSettled) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    Ledger ledger;
    std::set<std::int64_t> open;
    std::int64_t last = 0;
    for (int step = 0; step < 300; ++step) {
      if (random() % 2 == 0 || open.empty()) {
        last += random() % 4 == 0 ? static_cast<std::int64_t>(random() % 9) + 1 : 1;
        ledger.handed_out(last, {}, 1);
        open.insert(last);
      } else {
        const auto one =
            std::next(open.begin(), static_cast<std::ptrdiff_t>(random() % open.size()));
        ASSERT_TRUE(ledger.settle(*one, Kind::kAck));
        ASSERT_FALSE(ledger.settle(*one, Kind::kAck));
        open.erase(one);
      }
      ASSERT_EQ(ledger.out(), open.size());
      ASSERT_EQ(ledger.span(), open.empty() ? 0 : last - *open.begin());
      if (const auto next = ledger.take_commit()) {
        ASSERT_TRUE(open.empty() || *next <= *open.begin());
      }
    }
  }
}

TEST(KafkaLedger, CommitsNothingThatTheBrokerHasAlready) {
  Ledger ledger;
  EXPECT_TRUE(ledger.met_end(5));
  EXPECT_TRUE(ledger.to_commit());
  ledger.stands_at(4);
  EXPECT_TRUE(ledger.to_commit());
  ledger.stands_at(5);
  EXPECT_FALSE(ledger.to_commit());
  EXPECT_EQ(ledger.committed(), 5);
  EXPECT_TRUE(ledger.met_end(6));
  EXPECT_EQ(ledger.take_commit(), 6);
}

}  // namespace
}  // namespace semel::kafka
