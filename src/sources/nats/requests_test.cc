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
  requests.ended(second, {});
  EXPECT_EQ(requests.outstanding(), 9U);
  requests.ended(first, {});
  requests.ended(first, {});
  requests.ended(99, {});
  EXPECT_EQ(requests.outstanding(), 0U);
  requests.filled();
  EXPECT_EQ(requests.outstanding(), 0U) << "more than was asked for";
  EXPECT_FALSE(requests.overdue(kBegin + seconds(99)));
}

// Servers before 2.10 alternate between requests: a message for the second request is attributed to
// the first.
TEST(NatsRequests, AnEndCorrectsWhatWasGuessed) {
  Requests requests;
  const auto first = requests.add(10, kBegin + seconds(5));
  const auto second = requests.add(10, kBegin + seconds(6));
  for (int i = 0; i < 12; ++i) requests.filled();
  requests.ended(first, 4);
  EXPECT_EQ(requests.outstanding(), 4U) << "six each";
  requests.ended(second, 4);
  EXPECT_EQ(requests.outstanding(), 0U);
  EXPECT_FALSE(requests.overdue(kBegin + seconds(99)));
}

TEST(NatsRequests, AnEndLeavesToOthersWhatTheyMayStillBring) {
  for (const bool filled : {false, true}) {
    Requests requests;
    requests.add(10, kBegin + seconds(5));
    const auto second = requests.add(10, kBegin + seconds(6));
    const std::size_t came = filled ? 10 : 9;
    for (std::size_t i = 0; i < came; ++i) requests.filled();
    requests.ended(second, 4);
    EXPECT_EQ(requests.outstanding(), 20 - came - 4) << "of the first one";
  }
}

TEST(NatsRequests, OneThatIsOverdueTakesNoOtherWithIt) {
  Requests requests;
  requests.add(3, kBegin + seconds(5));
  requests.add(4, kBegin + seconds(9));
  requests.forget_overdue(kBegin + seconds(6));
  EXPECT_EQ(requests.outstanding(), 4U);
  EXPECT_FALSE(requests.overdue(kBegin + seconds(6)));
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
