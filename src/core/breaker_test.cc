#include "core/breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace semel::core {
namespace {

using std::chrono::milliseconds;

constexpr Breaker::Options kOptions = {3, milliseconds(100), milliseconds(500)};

TEST(Breaker, ShutsAfterSeveralFailuresInARow) {
  Breaker breaker(kOptions);
  EXPECT_FALSE(breaker.failed(breaker.begin()));
  EXPECT_FALSE(breaker.failed(breaker.begin()));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
  EXPECT_FALSE(breaker.failed(breaker.begin()));
  EXPECT_FALSE(breaker.failed(breaker.begin()));
  EXPECT_EQ(breaker.failed(breaker.begin()), milliseconds(100));
}

TEST(Breaker, GrowsWithEachTrialThatFailsUpToItsCap) {
  Breaker breaker(kOptions);
  breaker.failed(breaker.begin());
  breaker.failed(breaker.begin());
  std::vector<int> lengths;
  for (int i = 0; i < 6; ++i) {
    lengths.push_back(static_cast<int>(breaker.failed(breaker.begin())->count()));
  }
  EXPECT_EQ(lengths, (std::vector<int>{100, 200, 400, 500, 500, 500}));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
  EXPECT_FALSE(breaker.failed(breaker.begin())) << "a success begins anew";
  EXPECT_FALSE(breaker.failed(breaker.begin()));
  EXPECT_EQ(breaker.failed(breaker.begin()), milliseconds(100));
}

TEST(Breaker, CallsThatFailTogetherShutItOnce) {
  Breaker breaker(kOptions);
  std::vector<Breaker::Ticket> calls(500);
  for (auto& call : calls) call = breaker.begin();
  int shut = 0;
  for (const auto call : calls) shut += breaker.failed(call) ? 1 : 0;
  EXPECT_EQ(shut, 1);
  EXPECT_EQ(breaker.failed(breaker.begin()), milliseconds(200)) << "the trial";
}

TEST(Breaker, ASuccessFromBeforeTheShutDoesNotOpen) {
  Breaker breaker(kOptions);
  const auto early = breaker.begin();
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(100));
  EXPECT_FALSE(breaker.answered(early));
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(200));
  EXPECT_TRUE(breaker.answered(breaker.begin()));
}

TEST(Breaker, AFaultShutsAtOnceAndItsTrialMayNotFail) {
  Breaker breaker(kOptions);
  EXPECT_EQ(breaker.at_fault(breaker.begin()), milliseconds(100));
  EXPECT_EQ(breaker.failed(breaker.begin()), milliseconds(200));
}

TEST(Breaker, WaitsAsLongAsAskedWithinBounds) {
  Breaker breaker(kOptions);
  const auto early = breaker.begin();
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(300)), milliseconds(300));
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(90'000)), milliseconds(500));
  EXPECT_EQ(breaker.asked_to_wait(milliseconds(-5)), milliseconds(0));
  EXPECT_FALSE(breaker.answered(early)) << "it asked after that call was begun";
  EXPECT_TRUE(breaker.answered(breaker.begin()));
}

}  // namespace
}  // namespace semel::core
