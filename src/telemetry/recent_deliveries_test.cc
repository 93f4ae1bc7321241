#include "telemetry/recent_deliveries.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/builders.h"

namespace semel::telemetry {
namespace {

constexpr ConsumerNumber kPaying{1};

Delivery delivery_of(std::string_view key) {
  Arrival arrival;
  arrival.partition = "orders-3";
  arrival.position = "17";
  return {test::make_message(kPaying, key), std::move(arrival)};
}

void end(RecentDeliveries& recent, std::string_view key, Outcome::Kind kind) {
  Outcome outcome;
  outcome.kind = kind;
  recent.on_ended("payments", delivery_of(key), outcome, std::chrono::milliseconds(3));
}

std::vector<RecentDeliveries::Pointer> all_of(const RecentDeliveries& recent) {
  return recent.find(1'000'000, [](const EndedDelivery&) { return true; });
}

TEST(RecentDeliveriesTest, KeepsHowEachEnded) {
  RecentDeliveries recent;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDuplicate;
  outcome.attempt = 2;
  outcome.reason = "some.reason";
  outcome.error = "in words";
  outcome.delay = std::chrono::milliseconds(5);
  outcome.completed_at = std::chrono::system_clock::time_point(std::chrono::hours(3));
  recent.on_ended("payments", delivery_of("one"), outcome, std::chrono::milliseconds(3));
  const auto kept = all_of(recent);
  ASSERT_EQ(kept.size(), 1U);
  const EndedDelivery& one = *kept[0];
  EXPECT_EQ(one.consumer, "payments");
  EXPECT_EQ(one.key, "one");
  EXPECT_EQ(one.outcome, Outcome::Kind::kDuplicate);
  EXPECT_EQ(one.attempt, 2);
  EXPECT_EQ(one.reason, "some.reason");
  EXPECT_EQ(one.error, "in words");
  EXPECT_EQ(one.again_in, std::chrono::milliseconds(5));
  EXPECT_EQ(one.completed_at, UtcTime(std::chrono::hours(3)));
  EXPECT_EQ(one.partition, "orders-3");
  EXPECT_EQ(one.position, "17");
  EXPECT_EQ(one.took, std::chrono::milliseconds(3));
}

TEST(RecentDeliveriesTest, FindsThoseOfARecordTheNewestFirst) {
  RecentDeliveries recent;
  end(recent, "one", Outcome::Kind::kDone);
  end(recent, "two", Outcome::Kind::kDone);
  end(recent, "one", Outcome::Kind::kDuplicate);
  const auto found = recent.of(test::make_message(kPaying, "one").key().id);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]->outcome, Outcome::Kind::kDuplicate);
  EXPECT_EQ(found[1]->outcome, Outcome::Kind::kDone);
  EXPECT_GT(found[0]->number, found[1]->number);
}

TEST(RecentDeliveriesTest, AMessageWithoutAKeyIsOneTheStoreHasNoRecordOf) {
  RecentDeliveries recent;
  Arrival arrival;
  arrival.partition = "in.jsonl";
  recent.on_refused("payments", arrival, "key.missing", "there is no key");
  const auto kept = all_of(recent);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_FALSE(kept[0]->id);
  EXPECT_EQ(kept[0]->outcome, Outcome::Kind::kDead);
  EXPECT_EQ(kept[0]->reason, "key.missing");
  EXPECT_EQ(kept[0]->partition, "in.jsonl");
}

TEST(RecentDeliveriesTest, ALongKeyIsCutAndSaysSo) {
  RecentDeliveries recent;
  const std::string key(2 * RecentDeliveries::kLongestKey, 'k');
  end(recent, key, Outcome::Kind::kDone);
  const auto kept = all_of(recent);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0]->key.size(), RecentDeliveries::kLongestKey);
  EXPECT_TRUE(kept[0]->key_is_cut);
}

// For any number of threads, and wherever seconds begin: kept and left-out ones add up to all of
// them, and a burst of done ones leaves room for others.
TEST(RecentDeliveriesTest, AStormIsCountedAndLeavesRoom) {
  RecentDeliveries recent;
  constexpr std::size_t kEach = 5'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::size_t n = 0; n < kEach; ++n) end(recent, "one", Outcome::Kind::kDone);
    });
  }
  for (std::thread& thread : threads) thread.join();
  end(recent, "two", Outcome::Kind::kDead);
  const auto kept = all_of(recent);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept[0]->outcome, Outcome::Kind::kDead);
  EXPECT_EQ(kept[0]->number + recent.left_out(), 4 * kEach + 1);
  EXPECT_GT(recent.left_out(), 0U);
}

TEST(RecentDeliveriesTest, KeepsTheLastOnes) {
  RecentDeliveries recent({.kept = 10, .done_of_second = 100, .others_of_second = 100});
  for (int i = 0; i < 25; ++i) end(recent, "one", Outcome::Kind::kDuplicate);
  const auto kept = all_of(recent);
  ASSERT_EQ(kept.size(), 10U);
  EXPECT_EQ(kept.front()->number, 25U);
  EXPECT_EQ(kept.back()->number, 16U);
}

}  // namespace
}  // namespace semel::telemetry
