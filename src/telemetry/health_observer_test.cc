#include "telemetry/health_observer.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

#include "tests/support/builders.h"

namespace semel::telemetry {
namespace {

constexpr ConsumerNumber kConsumer{1};
const Error kAway{ErrorKind::kUnavailable, "R250", "the server is away", {}};

TEST(HealthObserverTest, KnowsWhichOutagesLast) {
  HealthObserver health({"a", "b"});
  health.on_trouble("b", "store", kAway, false);
  health.on_trouble("b", "kafka", {ErrorKind::kUnavailable, "R300", "no broker", {}}, false);
  health.on_trouble("unknown", "store", kAway, false);
  auto seen = health.snapshot();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].consumer, "a");
  EXPECT_TRUE(seen[0].outages.empty());
  ASSERT_EQ(seen[1].outages.size(), 2U);
  EXPECT_EQ(seen[1].outages[1].component, "store");
  EXPECT_EQ(seen[1].outages[1].error, "[R250] the server is away");
  health.on_trouble("b", "store", kAway, true);
  seen = health.snapshot();
  ASSERT_EQ(seen[1].outages.size(), 1U);
  EXPECT_EQ(seen[1].outages[0].component, "kafka");
}

TEST(HealthObserverTest, AConsumerWorksWithoutItsFrontWindow) {
  HealthObserver health({"a"});
  health.on_trouble("a", kFrontComponent, kAway, false);
  EXPECT_EQ(health.snapshot()[0].outages.size(), 1U);
  EXPECT_TRUE(health.snapshot()[0].works());
  health.on_trouble("a", kStoreComponent, kAway, false);
  EXPECT_FALSE(health.snapshot()[0].works());
}

TEST(HealthObserverTest, AnOutageKeepsItsBeginningAndHasTheNewestError) {
  HealthObserver health({"a"});
  health.on_trouble("a", "store", kAway, false);
  const auto first = health.snapshot()[0].outages[0];
  health.on_trouble("a", "store", {ErrorKind::kUnavailable, "R251", "refused", {}}, false);
  const auto second = health.snapshot()[0].outages[0];
  EXPECT_EQ(second.since, first.since);
  EXPECT_EQ(second.error, "[R251] refused");
}

TEST(HealthObserverTest, ADeliveryThatTheStoreCouldNotRecordHasNotEnded) {
  HealthObserver health({"a"});
  Outcome away;
  away.kind = Outcome::Kind::kRetry;
  away.reason = reason::kStoreUnavailable;
  health.on_ended("a", test::make_delivery(kConsumer, "k"), away, std::chrono::nanoseconds(1));
  EXPECT_FALSE(health.snapshot()[0].last_ended);
  health.on_ended("a", test::make_delivery(kConsumer, "k"), {}, std::chrono::nanoseconds(1));
  EXPECT_TRUE(health.snapshot()[0].last_ended);
}

TEST(HealthObserverTest, AConsumerThatBeginsAgainHasNoOutageOfBefore) {
  HealthObserver health({"a", "b"});
  health.on_trouble("a", "store", kAway, false);
  health.on_trouble("b", "store", kAway, false);
  health.on_consumer({"a", {"queue"}, "sql", std::nullopt});
  EXPECT_TRUE(health.snapshot()[0].works());
  EXPECT_FALSE(health.snapshot()[1].works());
}

TEST(HealthObserverTest, ConsumersComeAndGo) {
  HealthObserver health({"a"});
  health.on_consumer({"later", {"queue"}, "sql", std::nullopt});
  ASSERT_EQ(health.snapshot().size(), 2U);
  EXPECT_EQ(health.snapshot()[1].consumer, "later");
  health.on_ended("later", test::make_delivery(kConsumer, "k"), {}, std::chrono::nanoseconds(1));
  EXPECT_TRUE(health.snapshot()[1].last_ended);
  health.on_trouble("a", "store", kAway, false);
  health.forget("a");
  ASSERT_EQ(health.snapshot().size(), 1U);
  health.on_consumer({"a", {"queue"}, "sql", std::nullopt});
  ASSERT_EQ(health.snapshot().size(), 2U);
  EXPECT_TRUE(health.snapshot()[0].works());
}

}  // namespace
}  // namespace semel::telemetry
