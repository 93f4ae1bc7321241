#include "sources/redis_streams/ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace semel::redis_streams {
namespace {

using Kind = Settlement::Kind;

std::unique_ptr<Arrival> saying(std::string payload) {
  auto arrival = std::make_unique<Arrival>();
  arrival->payload = std::move(payload);
  return arrival;
}

EntryId id(std::uint64_t number) { return {number, 0}; }
Ledger::TimePoint at(int seconds) { return Ledger::TimePoint(std::chrono::seconds(seconds)); }

Ledger filled(std::uint64_t entries) {
  Ledger ledger;
  for (std::uint64_t i = 1; i <= entries; ++i) {
    EXPECT_TRUE(ledger.arrived(id(i), saying(std::to_string(i))));
  }
  return ledger;
}

TEST(RedisStreamsLedger, HandsOutInTheOrderOfArrivalAndThatGivenBackFirst) {
  Ledger ledger = filled(3);
  EXPECT_EQ(ledger.take().arrival->payload, "1");
  const auto second = ledger.take();
  EXPECT_EQ(second.id, id(2));
  EXPECT_TRUE(ledger.settle(second.number, Kind::kRelease));
  EXPECT_EQ(ledger.take().arrival->payload, "2");
  EXPECT_EQ(ledger.take().arrival->payload, "3");
  EXPECT_EQ(ledger.take().arrival, nullptr);
  EXPECT_EQ(ledger.open(), 3U);
}

TEST(RedisStreamsLedger, ForgetsWhatWaitsAndKeepsWhatIsOut) {
  Ledger ledger = filled(3);
  const auto first = ledger.take();
  const auto second = ledger.take();
  EXPECT_TRUE(ledger.settle(second.number, Kind::kRelease));
  ledger.forget_waiting();
  EXPECT_FALSE(ledger.has_waiting());
  EXPECT_EQ(ledger.ours(), std::vector{id(1)});
  EXPECT_EQ(ledger.pending(), 1U);
  EXPECT_TRUE(ledger.arrived(id(2), saying("2"))) << "it may come again";
  EXPECT_TRUE(ledger.settle(first.number, Kind::kAck));
  EXPECT_EQ(ledger.acks(10), std::vector{id(1)});
}

TEST(RedisStreamsLedger, WhatIsToldOnceMoreIsTheOneInHand) {
  Ledger ledger = filled(2);
  const auto first = ledger.take();
  EXPECT_FALSE(ledger.arrived(id(1), saying("1")));
  EXPECT_TRUE(ledger.settle(first.number, Kind::kAck));
  EXPECT_FALSE(ledger.arrived(id(1), saying("1"))) << "its acknowledgement is on its way";
  ledger.acknowledged(ledger.acks(10));
  EXPECT_TRUE(ledger.arrived(id(1), saying("1"))) << "the group has lost it, and begins again";
}

TEST(RedisStreamsLedger, AcknowledgementsStayUntilTheServerHasThem) {
  Ledger ledger = filled(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ledger.settle(ledger.take().number, Kind::kAck));
  EXPECT_EQ(ledger.acks(2), (std::vector{id(1), id(2)}));
  EXPECT_EQ(ledger.waiting_acks(), 3U) << "the connection may be lost before they are heard";
  EXPECT_EQ(ledger.pending(), 3U);
  ledger.acknowledged(ledger.acks(2));
  EXPECT_EQ(ledger.acks(2), std::vector{id(3)});
  EXPECT_EQ(ledger.pending(), 1U);
}

TEST(RedisStreamsLedger, OnlyWhatIsOutCanBeSettledAndOnce) {
  Ledger ledger = filled(2);
  EXPECT_FALSE(ledger.settle(0, Kind::kAck)) << "never received";
  const auto first = ledger.take();
  EXPECT_TRUE(ledger.settle(first.number, Kind::kAck));
  EXPECT_FALSE(ledger.settle(first.number, Kind::kAck));
  EXPECT_FALSE(ledger.settle(17, Kind::kAck));
  EXPECT_EQ(ledger.waiting_acks(), 1U);
}

TEST(RedisStreamsLedger, WhatAnotherMemberHasTakenIsNotHeldOnTo) {
  Ledger ledger = filled(5);
  EXPECT_EQ(ledger.ours_behind(id(2)), 3U);
  ledger.only_ours(id(0), id(3), {id(1), id(3)}, at(1));
  EXPECT_EQ(ledger.ours(), (std::vector{id(1), id(3), id(4), id(5)}));
  ledger.only_ours(id(3), id(100), {}, at(2));
  ledger.only_ours(id(3), id(100), {}, at(9));
  EXPECT_EQ(ledger.take_lost(), 0U) << "a commit may have acknowledged them";
  ledger.lose_missing(at(1));
  EXPECT_EQ(ledger.take_lost(), 1U) << "those that were missed later have their own time";
  ledger.lose_missing(at(2));
  EXPECT_EQ(ledger.take_lost(), 2U) << "it counts from when they were missed first";
  ledger.lose_missing(at(9));
  EXPECT_EQ(ledger.take_lost(), 0U) << "counted once";
  EXPECT_EQ(ledger.open(), 5U) << "it is handled all the same: its record decides";
  EXPECT_FALSE(ledger.arrived(id(2), saying("2")));
  EXPECT_EQ(ledger.ours(), (std::vector{id(1), id(2), id(3)})) << "it is ours again";
  EXPECT_TRUE(ledger.arrived(id(6), saying(""), false));
  EXPECT_EQ(ledger.ours().size(), 3U) << "one without data would be dropped by the server";
  EXPECT_EQ(ledger.open(), 6U);
}

TEST(RedisStreamsLedger, WhatACommitHasAcknowledgedIsNeitherAcknowledgedNorTakenForNew) {
  Ledger ledger = filled(3);
  const auto first = ledger.take();
  const auto second = ledger.take();
  EXPECT_TRUE(ledger.settle(first.number, Kind::kGone));
  EXPECT_EQ(ledger.waiting_acks(), 0U);
  EXPECT_EQ(ledger.untold(), 1U);
  EXPECT_EQ(ledger.pending(), 3U) << "it makes room when the others do";
  EXPECT_TRUE(ledger.knows(id(1)));
  EXPECT_FALSE(ledger.arrived(id(1), saying("1"))) << "asked for before the commit";
  EXPECT_EQ(ledger.acks(9), std::vector{id(1)}) << "once more, which is harmless";
  ledger.acknowledged({id(1)});
  ledger.forget_gone();
  EXPECT_EQ(ledger.pending(), 2U);
  EXPECT_TRUE(ledger.arrived(id(1), saying("1"))) << "the group has begun again";
  EXPECT_FALSE(ledger.settle(first.number, Kind::kGone)) << "that was the earlier coming";
  EXPECT_TRUE(ledger.settle(second.number, Kind::kAck));
}

// Record and acknowledgement may be lost together, where both are in the same Redis.
TEST(RedisStreamsLedger, AnotherServerIsToldNothingOfWhatWasCommittedBefore) {
  Ledger ledger = filled(5);
  const auto first = ledger.take();
  const auto second = ledger.take();
  const auto third = ledger.take();
  const auto fourth = ledger.take();
  EXPECT_TRUE(ledger.settle(first.number, Kind::kGone));
  EXPECT_TRUE(ledger.settle(second.number, Kind::kAck));
  ledger.another_server();
  EXPECT_TRUE(ledger.settle(third.number, Kind::kGone)) << "heard of afterwards";
  EXPECT_TRUE(ledger.settle(fourth.number, Kind::kAck));
  EXPECT_EQ(ledger.acks(9), std::vector<EntryId>());
  EXPECT_TRUE(ledger.arrived(id(1), saying("1"))) << "its record decides";
  EXPECT_TRUE(ledger.arrived(id(2), saying("2")));
  EXPECT_FALSE(ledger.arrived(id(3), saying("3"))) << "it is here";
  for (const int expected : {3, 4, 5, 1, 2}) {
    const auto taken = ledger.take();
    ASSERT_NE(taken.arrival, nullptr);
    EXPECT_EQ(taken.id, id(expected));
    EXPECT_TRUE(ledger.settle(taken.number, Kind::kAck));
  }
  EXPECT_EQ(ledger.waiting_acks(), 5U);
}

TEST(RedisStreamsLedger, TheSameServerOnAnotherConnectionVoidsNothing) {
  Ledger ledger = filled(2);
  ledger.another_server();
  const auto listed = ledger.take();
  const auto missed = ledger.take();
  EXPECT_FALSE(ledger.arrived(id(1), saying("1")));
  ledger.only_ours(id(1), id(2), {}, at(1));
  EXPECT_TRUE(ledger.settle(listed.number, Kind::kAck));
  EXPECT_TRUE(ledger.settle(missed.number, Kind::kAck));
  EXPECT_EQ(ledger.acks(9), (std::vector{id(1), id(2)}));
}

TEST(RedisStreamsLedger, WhatACommitHasAcknowledgedWasNotLost) {
  Ledger ledger = filled(3);
  const auto first = ledger.take();
  const auto second = ledger.take();
  ledger.only_ours(id(0), id(100), {}, at(1));
  EXPECT_TRUE(ledger.settle(first.number, Kind::kGone))
      << "it is heard of after the server's answer";
  EXPECT_TRUE(ledger.settle(second.number, Kind::kAck));
  EXPECT_EQ(ledger.take_lost(), 1U) << "the source has to acknowledge what another may have";
  ledger.lose_missing(at(1));
  EXPECT_EQ(ledger.take_lost(), 1U) << "the third one is still here";
}

}  // namespace
}  // namespace semel::redis_streams
