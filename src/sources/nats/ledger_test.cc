#include "sources/nats/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace semel::nats {
namespace {

using Kind = Settlement::Kind;
using Replies = std::vector<std::string>;

std::string reply_of(std::uint64_t number) { return "ack." + std::to_string(number); }

void bring(Ledger& ledger, std::uint64_t number) {
  auto arrival = std::make_unique<Arrival>();
  arrival->payload = std::to_string(number);
  ledger.arrived(reply_of(number), std::move(arrival));
}

Ledger ledger_with(std::uint64_t count) {
  Ledger ledger;
  for (std::uint64_t number = 1; number <= count; ++number) bring(ledger, number);
  while (ledger.take().arrival != nullptr) {
  }
  return ledger;
}

TEST(NatsLedger, TheOldestIsThatOfAllThatAreNotSettled) {
  const auto at = [](int seconds) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
  };
  Ledger ledger;
  EXPECT_FALSE(ledger.oldest_sent());
  for (const int seconds : {9, 5, 7}) {
    auto arrival = std::make_unique<Arrival>();
    arrival->broker_time = at(seconds);
    ledger.arrived(reply_of(static_cast<std::uint64_t>(seconds)), std::move(arrival));
  }
  EXPECT_EQ(ledger.oldest_sent(), at(5)) << "a redelivery comes behind younger ones";
  while (ledger.take().arrival != nullptr) {
  }
  EXPECT_TRUE(ledger.settle(2, Kind::kAck));
  EXPECT_EQ(ledger.oldest_sent(), at(7));
  EXPECT_TRUE(ledger.settle(3, Kind::kAck));
  EXPECT_TRUE(ledger.settle(1, Kind::kAck));
  EXPECT_FALSE(ledger.oldest_sent());
}

TEST(NatsLedger, EachIsToldOnceWhereItsDeliverySaidSo) {
  Ledger ledger = ledger_with(4);
  EXPECT_TRUE(ledger.settle(3, Kind::kAck));
  EXPECT_TRUE(ledger.settle(1, Kind::kGone));
  EXPECT_FALSE(ledger.settle(3, Kind::kAck)) << "settled before";
  EXPECT_EQ(ledger.acks(), 2U);
  EXPECT_EQ(ledger.take_acks(), (Replies{reply_of(3), reply_of(1)}));
  EXPECT_TRUE(ledger.take_acks().empty()) << "told once";
  EXPECT_EQ(ledger.open_replies(), (Replies{reply_of(2), reply_of(4)}));
}

TEST(NatsLedger, WhatNobodyHasReceivedIsNotSettled) {
  Ledger ledger;
  bring(ledger, 1);
  bring(ledger, 2);
  EXPECT_EQ(ledger.take().tag, 1U);
  EXPECT_FALSE(ledger.settle(2, Kind::kAck)) << "it waits";
  EXPECT_FALSE(ledger.settle(0, Kind::kAck));
  EXPECT_FALSE(ledger.settle(99, Kind::kAck));
  EXPECT_EQ(ledger.open(), 2U);
}

TEST(NatsLedger, WhatIsGivenBackComesAgainBeforeWhatIsNew) {
  Ledger ledger = ledger_with(3);
  bring(ledger, 4);
  EXPECT_TRUE(ledger.settle(2, Kind::kRelease));
  EXPECT_EQ(ledger.take().arrival->payload, "2");
  EXPECT_EQ(ledger.take().arrival->payload, "4");
  EXPECT_EQ(ledger.take().arrival, nullptr);
  EXPECT_TRUE(ledger.settle(2, Kind::kAck));
  EXPECT_EQ(ledger.take_acks(), Replies{reply_of(2)}) << "one copy has one acknowledgement";
}

TEST(NatsLedger, AtRandomTheServerIsToldOfEachOnceAndOfNothingThatIsOpen) {
  std::mt19937_64 random(20'261'127);
  for (int round = 0; round < 100; ++round) {
    Ledger ledger;
    std::set<std::uint64_t> out;
    std::set<std::string> open, told;
    std::uint64_t last = 0;
    for (int step = 0; step < 300; ++step) {
      const auto chance = random() % 10;
      if (chance < 3) {
        bring(ledger, ++last);
        open.insert(reply_of(last));
      } else if (chance < 6) {
        if (const auto taken = ledger.take(); taken.arrival != nullptr) {
          ASSERT_EQ(taken.arrival->payload, std::to_string(taken.tag));
          ASSERT_TRUE(out.insert(taken.tag).second) << "it is out";
        }
      } else if (chance < 9 && !out.empty()) {
        const auto at = std::next(out.begin(), static_cast<std::ptrdiff_t>(random() % out.size()));
        const bool back = random() % 5 == 0;
        ASSERT_TRUE(ledger.settle(*at, back ? Kind::kRelease : Kind::kAck));
        if (!back) open.erase(reply_of(*at));
        out.erase(at);
      } else {
        for (const std::string& reply : ledger.take_acks()) {
          ASSERT_FALSE(open.contains(reply)) << reply << " is open";
          ASSERT_TRUE(told.insert(reply).second) << reply << " was told before";
        }
      }
      ASSERT_EQ(ledger.open(), open.size());
      const Replies replies = ledger.open_replies();
      ASSERT_EQ(std::set<std::string>(replies.begin(), replies.end()), open);
      ASSERT_EQ(told.size() + ledger.acks() + open.size(), last);
    }
  }
}

}  // namespace
}  // namespace semel::nats
