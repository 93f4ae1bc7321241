#include "sources/rabbitmq/ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>

namespace semel::rabbitmq {
namespace {

using Kind = Settlement::Kind;
using Acks = std::vector<Ledger::Ack>;

std::unique_ptr<Arrival> tagged_arrival(std::uint64_t tag) {
  auto arrival = std::make_unique<Arrival>();
  arrival->payload = std::to_string(tag);
  return arrival;
}

Ledger ledger_with(std::uint64_t count) {
  Ledger ledger;
  for (std::uint64_t tag = 1; tag <= count; ++tag) ledger.arrived(tag, tagged_arrival(tag));
  while (ledger.take().arrival != nullptr) {
  }
  return ledger;
}

TEST(RabbitmqLedger, APrefixIsToldInOneFrameAndTheRestOneByOne) {
  Ledger ledger = ledger_with(8);
  for (const std::uint64_t tag : {7, 2, 1, 3, 5}) EXPECT_TRUE(ledger.settle(tag, Kind::kAck));
  EXPECT_EQ(ledger.take_acks(), (Acks{{3, true}, {5, false}, {7, false}}));
  EXPECT_TRUE(ledger.take_acks().empty()) << "told once";
  EXPECT_TRUE(ledger.settle(4, Kind::kAck));
  EXPECT_EQ(ledger.take_acks(), (Acks{{4, false}}));
  EXPECT_TRUE(ledger.settle(8, Kind::kAck));
  EXPECT_TRUE(ledger.settle(6, Kind::kGone));
  EXPECT_EQ(ledger.take_acks(), (Acks{{8, true}}));
  EXPECT_EQ(ledger.untold(), 0U);
}

TEST(RabbitmqLedger, WhatNobodyHasReceivedIsNoPartOfThePrefix) {
  Ledger ledger;
  for (std::uint64_t tag = 1; tag <= 3; ++tag) ledger.arrived(tag, tagged_arrival(tag));
  EXPECT_EQ(ledger.take().tag, 1U);
  EXPECT_FALSE(ledger.settle(2, Kind::kAck)) << "it waits";
  EXPECT_TRUE(ledger.settle(1, Kind::kAck));
  EXPECT_EQ(ledger.take_acks(), (Acks{{1, false}}));
  EXPECT_EQ(ledger.untold(), 2U);
}

TEST(RabbitmqLedger, WhatIsGivenBackComesAgainBeforeWhatIsNew) {
  Ledger ledger = ledger_with(3);
  ledger.arrived(4, tagged_arrival(4));
  EXPECT_TRUE(ledger.settle(2, Kind::kRelease));
  EXPECT_FALSE(ledger.settle(2, Kind::kAck)) << "it waits";
  EXPECT_EQ(ledger.take().arrival->payload, "2");
  EXPECT_EQ(ledger.take().arrival->payload, "4");
  EXPECT_EQ(ledger.take().arrival, nullptr);
  EXPECT_TRUE(ledger.settle(2, Kind::kAck));
  EXPECT_FALSE(ledger.settle(2, Kind::kRelease)) << "settled before";
}

// Models a broker as a set of tags; each frame removes the tags that it names.
TEST(RabbitmqLedger, AtRandomTheBrokerIsToldOfEachOnceAndOfNothingThatIsOpen) {
  std::mt19937_64 random(20'261'123);
  for (int round = 0; round < 200; ++round) {
    Ledger ledger;
    std::set<std::uint64_t> broker, out, settled;
    std::uint64_t last = 0;
    const auto tell = [&] {
      for (const auto& ack : ledger.take_acks()) {
        ASSERT_TRUE(broker.contains(ack.tag)) << "told twice: the channel would be closed";
        const auto first = ack.multiple ? broker.begin() : broker.find(ack.tag);
        for (auto at = first; at != broker.end() && *at <= ack.tag;) {
          ASSERT_TRUE(settled.contains(*at)) << *at << " is open";
          at = broker.erase(at);
        }
      }
      for (const std::uint64_t tag : settled) ASSERT_FALSE(broker.contains(tag)) << "kept back";
    };
    for (int step = 0; step < 200; ++step) {
      const auto chance = random() % 10;
      if (chance < 3) {
        ++last;
        ledger.arrived(last, tagged_arrival(last));
        broker.insert(last);
      } else if (chance < 6) {
        if (const auto taken = ledger.take(); taken.arrival != nullptr) {
          ASSERT_EQ(taken.arrival->payload, std::to_string(taken.tag));
          ASSERT_TRUE(out.insert(taken.tag).second) << "it is out";
        }
      } else if (chance < 9 && !out.empty()) {
        auto at = std::next(out.begin(), static_cast<std::ptrdiff_t>(random() % out.size()));
        const bool back = random() % 5 == 0;
        ASSERT_TRUE(ledger.settle(*at, back ? Kind::kRelease : Kind::kAck));
        if (!back) settled.insert(*at);
        out.erase(at);
      } else {
        ASSERT_NO_FATAL_FAILURE(tell());
      }
      ASSERT_EQ(ledger.open(), last - settled.size());
      const auto untold = broker.size();
      ASSERT_EQ(ledger.untold(), untold);
    }
    ASSERT_NO_FATAL_FAILURE(tell());
  }
}

}  // namespace
}  // namespace semel::rabbitmq
