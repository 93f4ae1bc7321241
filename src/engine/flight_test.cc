#include "engine/flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/test_flight.h"
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

void add_eight_of_each(Flight& f, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    for (int i = 0; i < 8; ++i) f.add(one(key));
  }
}

TEST(Flight, CountsWhatIsInFlightUntilItLands) {
  Flight f({2, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  EXPECT_EQ(f.room().messages, 0u);
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(f.room().messages, 0u);
  std::vector<Landing> landings{landing(batch[0])};
  f.land(landings, {});
  EXPECT_EQ(f.room().messages, 1u);
  EXPECT_FALSE(f.empty());
  landings = {landing(batch[1])};
  f.land(landings, {});
  EXPECT_TRUE(f.empty());
}

TEST(Flight, FewPlacesAreNotAskedForWhileMuchWaits) {
  Flight f({50, 1 << 20}, BatchSize(10, 10, milliseconds(20)), 8);
  for (int i = 0; i < 41; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.room().messages, 0u) << "9 places, and 41 wait";
  std::vector<Landing> landings;
  const auto batch = f.take(false);
  landings.push_back(landing(batch.front()));
  f.land(landings, {});
  EXPECT_EQ(f.room().messages, 10u);
  while (!f.take(false).empty()) f.returned();
  f.add(one("a"));
  EXPECT_EQ(f.room().messages, 9u) << "only one waits";
}

TEST(Flight, WithoutWorkersOneBatchIsInHandAtATime) {
  Flight f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  ASSERT_EQ(f.take(false).size(), 1u);
  EXPECT_TRUE(f.take(false).empty());
  f.returned();
  EXPECT_EQ(f.take(false).size(), 1u) << "its deliveries may end later";
}

// The receiver handles small amounts itself, so it must be woken for them even when the flight is
// full.
TEST(Flight, WhatIsNoCrowdIsTheReceiversOwn) {
  constexpr std::size_t kRoom = 40;
  Flight f({kRoom, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  for (std::size_t i = 0; i < kRoom; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_FALSE(f.crowded());
  EXPECT_TRUE(f.returned());
  EXPECT_EQ(f.take(false).size(), kRoom);
}

TEST(Flight, NoMoreAreHandedOutThanMayRun) {
  Flight::Limits limits{100, 1 << 20};
  limits.running = 3;
  Flight f(limits, BatchSize(100, 100, milliseconds(20)), 0);
  for (int i = 0; i < 5; ++i) f.add(one("k" + std::to_string(i)));
  auto batch = f.take(false);
  EXPECT_EQ(batch.size(), 3u);
  f.returned();
  EXPECT_TRUE(f.take(false).empty());
  std::vector<Landing> landings{landing(batch[0])};
  f.land(landings, {});
  EXPECT_EQ(f.take(false).size(), 1u);
}

TEST(Flight, BytesAreALimitOfTheirOwn) {
  Flight f({100, 3}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  EXPECT_GT(f.room().bytes, 0u);
  f.add(one("b"));
  EXPECT_EQ(f.room().bytes, 0u);
  EXPECT_EQ(f.room().messages, 0u);
}

TEST(Flight, ASuspectRunsAloneAndEverythingWaitsForIt) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("before"));
  auto first = f.take(false);
  ASSERT_EQ(first.size(), 1u);
  f.add(one("suspect", true));
  f.add(one("after"));
  EXPECT_TRUE(f.take(false).empty()) << "a batch still runs: a crash now could be its doing";
  std::vector<Landing> landings{landing(first[0])};
  f.land(landings, {});
  f.returned();
  f.ran(1, false, false, milliseconds(1));

  auto suspect = f.take(false);
  ASSERT_EQ(suspect.size(), 1u);
  EXPECT_TRUE(suspect[0].arrival.suspect);
  EXPECT_TRUE(f.take(false).empty()) << "nothing runs beside a suspect";
  landings = {landing(suspect[0])};
  f.land(landings, {});
  f.returned();
  f.ran(1, true, false, milliseconds(1));
  auto after = f.take(false);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].message.key().text, "after");
}

TEST(Flight, SuspectsAreTakenTogether) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("before"));
  for (const char* name : {"s1", "s2", "s3"}) f.add(one(name, true));
  const auto suspects = f.take(false);
  ASSERT_EQ(suspects.size(), 3u);
  EXPECT_TRUE(f.take(false).empty()) << "nothing runs beside suspects";
  std::vector<Landing> landings;
  for (const core::TrackedDelivery& delivery : suspects) landings.push_back(landing(delivery));
  f.land(landings, {});
  f.returned();
  EXPECT_TRUE(f.take(false).empty()) << "what was counted has not been taken back";
  f.ran(3, true, 0, milliseconds(1));
  EXPECT_EQ(f.take(false).size(), 1u);
}

TEST(Flight, ASuspectThatWasNotTriedComesBackAsOne) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 2);
  f.add(one("suspect", true));
  auto suspect = f.take(false);
  ASSERT_EQ(suspect.size(), 1u);
  for (const bool untried : {true, false}) {
    Landing kept = landing(suspect[0]);
    kept.keep = &suspect[0];
    kept.still_suspect = untried;
    std::vector<Landing> landings{kept};
    f.land(landings, {});
    f.returned();
    f.ran(1, true, 0, milliseconds(1));
    f.add(one(untried ? "beside" : "behind"));
    auto other = f.take(false);
    ASSERT_EQ(other.size(), 1u) << "what waits holds nobody up";
    f.bring_back({});
    EXPECT_TRUE(!untried || f.take(false).empty()) << "it runs alone";
    landings = {landing(other[0])};
    f.land(landings, {});
    f.returned();
    f.ran(1, false, 0, milliseconds(1));
    suspect = f.take(false);
    ASSERT_EQ(suspect.size(), 1u);
    EXPECT_EQ(suspect[0].arrival.suspect, untried);
  }
}

TEST(Flight, WhatIsKeptComesBackWhenDueAndStaysCounted) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  auto batch = f.take(false);
  const TimePoint start{};
  Landing kept = landing(batch[0]);
  kept.keep = &batch[0];
  kept.settlement.delay = milliseconds(10);
  std::vector<Landing> landings{kept};
  f.land(landings, start);
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

TEST(Flight, WhatIsKeptComesBackSoonerWhereWhatItWaitsForHasCome) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u);
  const TimePoint start{};
  std::vector<Landing> landings;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Landing& kept = landings.emplace_back(landing(batch[i]));
    kept.keep = &batch[i];
    kept.settlement.delay = milliseconds(10);
    kept.waits_for = i + 1;
  }
  f.land(landings, start);
  f.returned();
  f.ran(2, false, false, milliseconds(1));
  EXPECT_FALSE(f.recall(3));
  EXPECT_TRUE(f.recall(2));
  EXPECT_EQ(f.bring_back(start), start + milliseconds(10));
  const auto again = f.take(false);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message.key().text, "b");
}

TEST(Flight, ClosingReturnsWhatWasNotHandedOutAndLetsWorkersGo) {
  Flight f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 1);
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

TEST(Flight, AnAnsweredCallGivesItsPlaceToAnotherBeforeItLands) {
  Flight f({100, 1 << 20, 2}, BatchSize(100, 100, milliseconds(20)), 0);
  for (const char* key : {"a", "b", "c", "d"}) f.add(one(key));
  auto batch = f.take(false);
  ASSERT_EQ(batch.size(), 2u) << "as many as may run";
  f.returned();
  EXPECT_TRUE(f.take(false).empty());
  f.answered();
  ASSERT_EQ(f.take(false).size(), 1u);
  f.returned();
  std::vector<Landing> landings{landing(batch[0])};
  landings[0].answered = true;
  f.land(landings, {});
  EXPECT_TRUE(f.take(false).empty()) << "its place was given away before";
  landings = {landing(batch[1])};
  f.land(landings, {});
  EXPECT_EQ(f.take(false).size(), 1u);
}

// Nothing lands and nothing is added: only the answer shows that a slot is free.
TEST(Flight, WhoWaitsForAPlaceIsCalledByAnAnswer) {
  Flight f({100, 1 << 20, 1}, BatchSize(1, 1, milliseconds(20)), 1);
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
TEST(Flight, KeysThatAreManyEnoughWaitForNobody) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  add_eight_of_each(f, {"a", "b"});
  f.allow_followers(true);
  auto both = f.take(false);
  ASSERT_EQ(both.size(), 2U);
  std::vector<Landing> landings{landing(both[0])};
  f.land(landings, {});
  f.add(one("c"));
  EXPECT_EQ(f.take(false).size(), 2U) << "more is ready than is in hand";
}

TEST(Flight, FewKeysWaitForThoseOfABatchInHand) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  f.allow_followers(true);
  add_eight_of_each(f, {"a", "b", "c"});
  auto all = f.take(false);
  ASSERT_EQ(all.size(), 3U);
  std::vector<Landing> landings{landing(all[0])};
  f.land(landings, {});
  EXPECT_TRUE(f.take(false).empty());
  landings = {landing(all[1]), landing(all[2])};
  f.land(landings, {});
  f.returned();
  EXPECT_EQ(f.take(false).size(), 3U);
}

TEST(Flight, ABatchThatDoesNotEndDelaysNoOtherKeyForLong) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 8);
  add_eight_of_each(f, {"a", "b", "c"});
  f.allow_followers(true);
  auto all = f.take(false);
  std::vector<Landing> landings{landing(all[0])};
  f.land(landings, {});
  EXPECT_TRUE(f.take(false).empty());
  EXPECT_EQ(f.take(true).size(), 1U);
}

TEST(Flight, ABatchThatHasEveryFreeKeyTakesWhatIsBehindThemToo) {
  const auto filled = [](Flight& f) {
    std::vector<core::TrackedDelivery> deliveries;
    for (const char* name : {"a1", "b1", "a2", "b2", "a3", "b3"}) {
      auto parts = semel::test::make_parts(kFlightConsumer, name);
      parts.ordering_key = std::string(1, name[0]);
      deliveries.emplace_back(Message(std::move(parts)), Arrival{});
    }
    f.add(std::move(deliveries));
  };
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 3);
  f.allow_followers(true);
  filled(f);
  EXPECT_EQ(f.take(false).size(), 6U) << "the other workers could have none of them";
  Flight shared({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 6);
  shared.allow_followers(true);
  filled(shared);
  EXPECT_EQ(shared.take(false).size(), 1U) << "one key is left for another worker";
}

TEST(Flight, WorkersShareWhatWaits) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 4);
  for (int i = 0; i < 8; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.take(false).size(), 2u);
}

TEST(Flight, WhatWaitsIsSharedOnlyWithWorkersThatAreFree) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 3);
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
