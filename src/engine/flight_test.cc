#include "engine/flight.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/builders.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using test::make_delivery;

constexpr ConsumerNumber kConsumer{7};

std::vector<Delivery> one(std::string_view key, bool suspect = false) {
  std::vector<Delivery> deliveries;
  deliveries.push_back(make_delivery(kConsumer, key));
  deliveries.back().arrival.suspect = suspect;
  return deliveries;
}

Landing landing(const Delivery& delivery) {
  Landing landing;
  landing.ordering_key = delivery.message.ordering_key();
  landing.bytes = delivery.message.payload().size();
  return landing;
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

TEST(Flight, WithoutWorkersOneBatchIsInHandAtATime) {
  Flight f({100, 1 << 20}, BatchSize(1, 1, milliseconds(20)), 0);
  f.add(one("a"));
  f.add(one("b"));
  ASSERT_EQ(f.take(false).size(), 1u);
  EXPECT_TRUE(f.take(false).empty());
  f.returned();
  EXPECT_EQ(f.take(false).size(), 1u) << "its deliveries may end later";
}

// Who receives takes what is no crowd itself, so it must be woken for it, however full the house.
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

TEST(Flight, WorkersShareWhatWaits) {
  Flight f({100, 1 << 20}, BatchSize(100, 100, milliseconds(20)), 4);
  for (int i = 0; i < 8; ++i) f.add(one("k" + std::to_string(i)));
  EXPECT_EQ(f.take(false).size(), 2u);
}

}  // namespace
}  // namespace semel::engine
