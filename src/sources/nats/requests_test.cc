#include "sources/nats/requests.h"

#include <gtest/gtest.h>

namespace semel::nats {
namespace {

using std::chrono::seconds;

constexpr Requests::TimePoint kBegin{};

TEST(NatsRequests, TheOldestIsFilledFirst) {
  Requests requests;
  const auto first = requests.add(2, kBegin + seconds(5));
  const auto second = requests.add(3, kBegin + seconds(6));
  EXPECT_NE(first, second);
  EXPECT_EQ(requests.outstanding(), 5U);
  requests.filled();
  requests.filled();
  EXPECT_EQ(requests.outstanding(), 3U);
  EXPECT_FALSE(requests.overdue(kBegin + seconds(6))) << "the first one is over";
  EXPECT_TRUE(requests.overdue(kBegin + seconds(7)));
}

TEST(NatsRequests, OneThatEndsTakesWithItWhatHasNotCome) {
  Requests requests;
  const auto first = requests.add(10, kBegin + seconds(5));
  const auto second = requests.add(10, kBegin + seconds(6));
  requests.filled();
  requests.ended(second);
  EXPECT_EQ(requests.outstanding(), 9U);
  requests.ended(first);
  requests.ended(first);
  requests.ended(99);
  EXPECT_EQ(requests.outstanding(), 0U);
  requests.filled();
  EXPECT_EQ(requests.outstanding(), 0U) << "more than was asked for";
  EXPECT_FALSE(requests.overdue(kBegin + seconds(99)));
}

TEST(NatsRequests, FewAreNotWorthOneWhileOthersMayCome) {
  EXPECT_EQ(worth_asking(100, 0, 0), 100U);
  EXPECT_EQ(worth_asking(100, 80, 10), 0U);
  EXPECT_EQ(worth_asking(100, 70, 5), 25U);
  EXPECT_EQ(worth_asking(100, 99, 0), 1U);
  EXPECT_EQ(worth_asking(100, 100, 0), 0U);
  EXPECT_EQ(worth_asking(100, 120, 0), 0U);
  EXPECT_EQ(worth_asking(1, 0, 0), 1U);
  EXPECT_EQ(worth_asking(3, 1, 1), 1U);
}

TEST(NatsRequests, FewWaitForMore) {
  core::AckPace pace = pace_of_asking(100);
  EXPECT_FALSE(pace.are_due(24, kBegin)) << "more may be settled soon";
  ASSERT_TRUE(pace.due());
  EXPECT_TRUE(pace.are_due(1, *pace.due())) << "slow messages keep no other from its place";
  EXPECT_TRUE(pace.are_due(25, kBegin));
  EXPECT_TRUE(pace_of_asking(1).are_due(1, kBegin));
}

}  // namespace
}  // namespace semel::nats
