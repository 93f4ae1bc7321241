#include "engine/in_flight_deliveries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/test_in_flight.h"
#include "tests/support/builders.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using test::make_delivery;

std::vector<core::TrackedDelivery> one(std::string_view key, bool suspect = false) {
  std::vector<core::TrackedDelivery> deliveries;
  deliveries.push_back(make_delivery(kFlightConsumer, key));
  deliveries.back().arrival.suspect = suspect;
  return deliveries;
}

void add_eight_of_each(InFlightDeliveries& f, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    for (int i = 0; i < 8; ++i) f.add(one(key));
  }
}

TEST(InFlightDeliveries, CountsWhatIsInFlightUntilItLands) {
  InFlightDeliveries f({2, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  EXPECT_EQ(f.capacity().messages, 0u);
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(f.capacity().messages, 0u);
  std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
  f.land(pending_settlements, {});
  EXPECT_EQ(f.capacity().messages, 1u);
  EXPECT_FALSE(f.empty());
  pending_settlements = {pending(batch[1])};
  f.land(pending_settlements, {});
  EXPECT_TRUE(f.empty());
}

TEST(InFlightDeliveries, WhatIsWithdrawnLeavesNothingBehind) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 1);
  f.add(one("kept"));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 1u);
  std::vector<PendingSettlement> settlements{pending(batch[0])};
  settlements[0].keep = &batch[0];
  settlements[0].settlement.delay = milliseconds(1'000);
  f.land(settlements, {});
  f.returned();
  f.ran(1, false, 0, std::nullopt);
  for (const char* const key : {"kept", "a", "a"}) f.add(one(key, key == std::string("a")));
  EXPECT_EQ(f.withdraw().size(), 4u);
  EXPECT_TRUE(f.empty());
  EXPECT_EQ(f.capacity().messages, 100u);
  f.add(one("kept"));
  EXPECT_EQ(f.take(false).size(), 1u) << "its key is free";
}

TEST(InFlightDeliveries, AllIsTakenWhereNoBatchCanBeginBeforeAnotherEnds) {
  for (const int workers : {0, 1}) {
    InFlightDeliveries f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), workers);
    EXPECT_FALSE(f.all_taken());
    f.add(one("a"));
    EXPECT_EQ(f.take(false).size(), 1u);
    EXPECT_TRUE(f.all_taken());
    f.returned();
    EXPECT_FALSE(f.all_taken()) << "the worker is free, though its call goes on";
  }
  InFlightDeliveries calls({100, 1 << 20, 1}, BatchSize(1, 1, milliseconds(20)), 1);
  calls.add(one("a"));
  EXPECT_EQ(calls.take(false).size(), 1u);
  calls.returned();
  EXPECT_TRUE(calls.all_taken()) << "no more calls may run";
  InFlightDeliveries full({2, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 8);
  full.add(one("a"));
  full.add(one("a"));
  EXPECT_EQ(full.take(false).size(), 1u);
  EXPECT_TRUE(full.all_taken()) << "all that has room waits for it";
  InFlightDeliveries suspects({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 8);
  suspects.add(one("a", true));
  EXPECT_EQ(suspects.take(false).size(), 1u);
  EXPECT_TRUE(suspects.all_taken()) << "nothing runs beside a suspect";
  InFlightDeliveries waits({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 8);
  waits.add(one("a"));
  EXPECT_EQ(waits.take(false).size(), 1u);
  waits.add(one("b", true));
  EXPECT_TRUE(waits.all_taken()) << "a suspect waits until nothing runs";
  InFlightDeliveries few({50, 1 << 20}, BatchSize(10, 10, milliseconds(20)), 8);
  for (int i = 0; i < 41; ++i) few.add(one("a"));
  EXPECT_EQ(few.take(false).size(), 1u);
  EXPECT_EQ(few.capacity().messages, 0u);
  EXPECT_TRUE(few.all_taken()) << "so few places are not asked for";
}

TEST(InFlightDeliveries, StandingStillItHasNoCapacity) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 1);
  f.stand_still(true);
  EXPECT_EQ(f.capacity().messages, 0u);
  f.stand_still(false);
  EXPECT_EQ(f.capacity().messages, 100u);
}

TEST(InFlightDeliveries, FewPlacesAreNotAskedForWhileMuchWaits) {
  InFlightDeliveries f({50, 1 << 20}, BatchSize(10, 10, milliseconds(20)), 8);
  for (int i = 0; i < 41; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.capacity().messages, 0u) << "9 places, and 41 wait";
  std::vector<PendingSettlement> pending_settlements;
  const auto batch = f.take(false);
  pending_settlements.push_back(pending(batch.front()));
  f.land(pending_settlements, {});
  EXPECT_EQ(f.capacity().messages, 10u);
  while (!f.take(false).empty()) f.returned();
  f.add(one("a"));
  EXPECT_EQ(f.capacity().messages, 9u) << "only one waits";
}

TEST(InFlightDeliveries, WithoutWorkersOneBatchIsInHandAtATime) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  ASSERT_EQ(f.take(false).size(), 1u);
  EXPECT_TRUE(f.take(false).empty());
  f.returned();
  EXPECT_EQ(f.take(false).size(), 1u) << "its deliveries may end later";
}

// The receiver handles small amounts itself, so it must be woken for them even when the table is
// full.
TEST(InFlightDeliveries, WhatIsNoCrowdIsTheReceiversOwn) {
  constexpr std::size_t kRoom = 40;
  InFlightDeliveries f({kRoom, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  for (std::size_t i = 0; i < kRoom; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_FALSE(f.crowded());
  EXPECT_TRUE(f.returned());
  EXPECT_EQ(f.take(false).size(), kRoom);
}

TEST(InFlightDeliveries, NoMoreAreHandedOutThanMayRun) {
  InFlightDeliveries::Limits limits{100, 1 << 20};
  limits.running = 3;
  InFlightDeliveries f(limits, BatchSize(100, 100, milliseconds(20)), 0);
  for (int i = 0; i < 5; ++i) f.add(one("k" + std::to_string(i)));
  auto batch = f.take(false);
  EXPECT_EQ(batch.size(), 3u);
  f.returned();
  EXPECT_TRUE(f.take(false).empty());
  std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
  f.land(pending_settlements, {});
  EXPECT_EQ(f.take(false).size(), 1u);
}

TEST(InFlightDeliveries, BytesAreALimitOfTheirOwn) {
  InFlightDeliveries f({100, 3}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  EXPECT_GT(f.capacity().bytes, 0u);
  f.add(one("b"));
  EXPECT_EQ(f.capacity().bytes, 0u);
  EXPECT_EQ(f.capacity().messages, 0u);
}

TEST(InFlightDeliveries, ASuspectRunsAloneAndEverythingWaitsForIt) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("before"));
  auto first = f.take(false);
  ASSERT_EQ(first.size(), 1u);
  f.add(one("suspect", true));
  f.add(one("after"));
  EXPECT_TRUE(f.take(false).empty()) << "a batch still runs: a crash now could be its doing";
  std::vector<PendingSettlement> pending_settlements{pending(first[0])};
  f.land(pending_settlements, {});
  f.returned();
  f.ran(1, false, false, milliseconds(1));

  auto suspect = f.take(false);
  ASSERT_EQ(suspect.size(), 1u);
  EXPECT_TRUE(suspect[0].arrival.suspect);
  EXPECT_TRUE(f.take(false).empty()) << "nothing runs beside a suspect";
  pending_settlements = {pending(suspect[0])};
  f.land(pending_settlements, {});
  f.returned();
  f.ran(1, true, false, milliseconds(1));
  auto after = f.take(false);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].message.key().text, "after");
}

TEST(InFlightDeliveries, SuspectsAreTakenTogether) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("before"));
  for (const char* name : {"s1", "s2", "s3"}) f.add(one(name, true));
  const auto suspects = f.take(false);
  ASSERT_EQ(suspects.size(), 3u);
  EXPECT_TRUE(f.take(false).empty()) << "nothing runs beside suspects";
  std::vector<PendingSettlement> pending_settlements;
  for (const core::TrackedDelivery& delivery : suspects)
    pending_settlements.push_back(pending(delivery));
  f.land(pending_settlements, {});
  f.returned();
  EXPECT_TRUE(f.take(false).empty()) << "what was counted has not been taken back";
  f.ran(3, true, 0, milliseconds(1));
  EXPECT_EQ(f.take(false).size(), 1u);
}

TEST(InFlightDeliveries, ASuspectThatWasNotTriedComesBackAsOne) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("suspect", true));
  auto suspect = f.take(false);
  ASSERT_EQ(suspect.size(), 1u);
  for (const bool untried : {true, false}) {
    PendingSettlement kept = pending(suspect[0]);
    kept.keep = &suspect[0];
    kept.still_suspect = untried;
    std::vector<PendingSettlement> pending_settlements{kept};
    f.land(pending_settlements, {});
    f.returned();
    f.ran(1, true, 0, milliseconds(1));
    f.add(one(untried ? "beside" : "behind"));
    auto other = f.take(false);
    ASSERT_EQ(other.size(), 1u) << "what waits holds nobody up";
    f.bring_back({});
    EXPECT_TRUE(!untried || f.take(false).empty()) << "it runs alone";
    pending_settlements = {pending(other[0])};
    f.land(pending_settlements, {});
    f.returned();
    f.ran(1, false, 0, milliseconds(1));
    suspect = f.take(false);
    ASSERT_EQ(suspect.size(), 1u);
    EXPECT_EQ(suspect[0].arrival.suspect, untried);
  }
}

// It stood behind another one of its key, and its claim showed that its holder had died.
TEST(InFlightDeliveries, OneThatIsLeftAsASuspectIsCountedAsOne) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 2);
  f.add(one("a"));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 1u);
  PendingSettlement left = pending(batch[0]);
  left.left = true;
  left.keep = &batch[0];
  left.still_suspect = true;
  std::vector<PendingSettlement> pending_settlements{left};
  f.land(pending_settlements, {});
  f.returned();
  f.ran(1, false, 0, milliseconds(1));
  f.add(one("b"));
  f.add(one("c"));
  const auto suspect = f.take(false);
  ASSERT_EQ(suspect.size(), 1u);
  EXPECT_TRUE(suspect[0].arrival.suspect);
  EXPECT_TRUE(f.take(false).empty()) << "nothing runs beside it";
  pending_settlements = {pending(suspect[0])};
  f.land(pending_settlements, {});
  f.returned();
  f.ran(1, true, 0, milliseconds(1));
  EXPECT_EQ(f.take(false).size(), 1u);
  EXPECT_EQ(f.take(false).size(), 1u) << "two run at a time again";
}

TEST(InFlightDeliveries, WhatIsKeptComesBackWhenDueAndStaysCounted) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  auto batch = f.take(false);
  const TimePoint start{};
  PendingSettlement kept = pending(batch[0]);
  kept.keep = &batch[0];
  kept.settlement.delay = milliseconds(10);
  std::vector<PendingSettlement> pending_settlements{kept};
  f.land(pending_settlements, start);
  f.returned();
  f.ran(1, false, false, milliseconds(1));
  EXPECT_FALSE(f.empty());
  EXPECT_EQ(f.bring_back(start + milliseconds(9)), start + milliseconds(10));
  EXPECT_FALSE(f.ready());
  EXPECT_EQ(f.bring_back(start + milliseconds(10)), std::nullopt);
  auto again = f.take(false);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message.key().text, "a");
}

TEST(InFlightDeliveries, WhatIsKeptComesBackSoonerWhereWhatItWaitsForHasCome) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u);
  const TimePoint start{};
  std::vector<PendingSettlement> pending_settlements;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    PendingSettlement& kept = pending_settlements.emplace_back(pending(batch[i]));
    kept.keep = &batch[i];
    kept.settlement.delay = milliseconds(10);
    kept.waits_for = i + 1;
  }
  f.land(pending_settlements, start);
  f.returned();
  f.ran(2, false, false, milliseconds(1));
  EXPECT_FALSE(f.recall(3));
  EXPECT_TRUE(f.recall(2));
  EXPECT_EQ(f.bring_back(start), start + milliseconds(10));
  const auto again = f.take(false);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message.key().text, "b");
}

TEST(InFlightDeliveries, ClosingReturnsWhatWasNotHandedOutAndLetsWorkersGo) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 1);
  f.add(one("a"));
  f.add(one("b"));
  auto running = f.take(false);
  ASSERT_EQ(running.size(), 1u);
  std::thread worker([&] {
    while (!f.take(true).empty()) {
    }
  });
  // Whether the worker or close gets "b" first, nothing is handed out afterwards.
  const auto rest = f.close();
  worker.join();
  EXPECT_LE(rest.size(), 1u);
  EXPECT_FALSE(f.wait_landed(milliseconds(1)));
}

TEST(InFlightDeliveries, AnAnsweredCallGivesItsPlaceToAnotherBeforeItLands) {
  InFlightDeliveries f({100, 1 << 20, 2}, BatchSize(100, 100, milliseconds(20)), 0);
  for (const char* key : {"a", "b", "c", "d"}) f.add(one(key));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u) << "as many as may run";
  f.returned();
  EXPECT_TRUE(f.take(false).empty());
  f.answered();
  ASSERT_EQ(f.take(false).size(), 1u);
  f.returned();
  std::vector<PendingSettlement> pending_settlements{pending(batch[0])};
  pending_settlements[0].answered = true;
  f.land(pending_settlements, {});
  EXPECT_TRUE(f.take(false).empty()) << "its place was given away before";
  pending_settlements = {pending(batch[1])};
  f.land(pending_settlements, {});
  EXPECT_EQ(f.take(false).size(), 1u);
}

// Nothing lands and nothing is added: only the answer shows that a slot is free.
TEST(InFlightDeliveries, WhoWaitsForAPlaceIsCalledByAnAnswer) {
  InFlightDeliveries f({100, 1 << 20, 1}, BatchSize(1, 1, milliseconds(20)), 1);
  for (int i = 0; i < 50; ++i) f.add(one("k" + std::to_string(i)));
  std::atomic<int> taken{0};
  std::thread worker([&] {
    while (!f.take(true).empty()) {
      ++taken;
      taken.notify_one();
      f.returned();
    }
  });
  for (int i = 1; i <= 50; ++i) {
    for (int had = taken; had < i; had = taken) taken.wait(had);
    EXPECT_EQ(taken, i);
    f.answered();
  }
  f.close();
  worker.join();
}

// Ten keys with long lines are again and again one batch, not ten batches of one.
TEST(InFlightDeliveries, KeysThatAreManyEnoughWaitForNobody) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  add_eight_of_each(f, {"a", "b"});
  f.allow_followers(true);
  auto both = f.take(false);
  ASSERT_EQ(both.size(), 2U);
  std::vector<PendingSettlement> pending_settlements{pending(both[0])};
  f.land(pending_settlements, {});
  f.add(one("c"));
  EXPECT_EQ(f.take(false).size(), 2U) << "more is ready than is in hand";
}

TEST(InFlightDeliveries, FewKeysWaitForThoseOfABatchInHand) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  f.allow_followers(true);
  add_eight_of_each(f, {"a", "b", "c"});
  auto all = f.take(false);
  ASSERT_EQ(all.size(), 3U);
  std::vector<PendingSettlement> pending_settlements{pending(all[0])};
  f.land(pending_settlements, {});
  EXPECT_TRUE(f.take(false).empty());
  pending_settlements = {pending(all[1]), pending(all[2])};
  f.land(pending_settlements, {});
  f.returned();
  EXPECT_EQ(f.take(false).size(), 3U);
}

TEST(InFlightDeliveries, ABatchThatDoesNotEndDelaysNoOtherKeyForLong) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  add_eight_of_each(f, {"a", "b", "c"});
  f.allow_followers(true);
  auto all = f.take(false);
  std::vector<PendingSettlement> pending_settlements{pending(all[0])};
  f.land(pending_settlements, {});
  EXPECT_TRUE(f.take(false).empty());
  EXPECT_EQ(f.take(true).size(), 1U);
}

TEST(InFlightDeliveries, ABatchThatHasEveryFreeKeyTakesWhatIsBehindThemToo) {
  const auto filled = [](InFlightDeliveries& f) {
    std::vector<core::TrackedDelivery> deliveries;
    for (const char* name : {"a1", "b1", "a2", "b2", "a3", "b3"}) {
      auto parts = semel::test::make_parts(kFlightConsumer, name);
      parts.ordering_key = std::string(1, name[0]);
      deliveries.emplace_back(Message(std::move(parts)), Arrival{});
    }
    f.add(std::move(deliveries));
  };
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 3);
  f.allow_followers(true);
  filled(f);
  EXPECT_EQ(f.take(false).size(), 6U) << "the other workers could have none of them";
  InFlightDeliveries shared({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 6);
  shared.allow_followers(true);
  filled(shared);
  EXPECT_EQ(shared.take(false).size(), 1U) << "one key is left for another worker";
}

TEST(InFlightDeliveries, WorkersShareWhatWaits) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 4);
  for (int i = 0; i < 8; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.take(false).size(), 2u);
}

TEST(InFlightDeliveries, WhatWaitsIsSharedOnlyWithWorkersThatAreFree) {
  InFlightDeliveries f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 3);
  for (int i = 0; i < 9; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.take(false).size(), 3U);
  EXPECT_EQ(f.take(false).size(), 3U);
  EXPECT_EQ(f.take(false).size(), 3U) << "the two others have a batch each";
  for (int i = 9; i < 13; ++i) f.add(one("k" + std::to_string(i)));
  f.returned();
  EXPECT_EQ(f.take(false).size(), 4U) << "nobody else is free for the rest";
}

}  // namespace
}  // namespace semel::engine
