#include "telemetry/delivery_history.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace semel::telemetry {
namespace {

class DeliveryHistoryTest : public ::testing::Test {
 protected:
  void end(Outcome::Kind kind, int times) {
    Outcome outcome;
    outcome.kind = kind;
    const Delivery delivery = test::make_delivery(ConsumerNumber{1}, "k");
    for (int i = 0; i < times; ++i) {
      metrics_.of("payments").ended(delivery, outcome, std::chrono::nanoseconds(1));
    }
  }

  DeliveryMetrics metrics_;
  DeliveryHistory history_{metrics_};
};

TEST_F(DeliveryHistoryTest, CountsEachIntervalByItself) {
  EXPECT_TRUE(history_.intervals("payments").empty());
  end(Outcome::Kind::kDone, 3);
  end(Outcome::Kind::kDuplicate, 2);
  history_.sample();
  history_.sample();
  end(Outcome::Kind::kConflict, 1);
  end(Outcome::Kind::kBusy, 4);
  history_.sample();
  const auto seen = history_.intervals("payments");
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], (GroupCounts{3, 2, 0, 0}));
  EXPECT_EQ(seen[1], (GroupCounts{0, 0, 0, 0}));
  EXPECT_EQ(seen[2], (GroupCounts{0, 0, 4, 1}));
}

TEST_F(DeliveryHistoryTest, KeepsAnHour) {
  end(Outcome::Kind::kDone, 1);
  for (std::size_t i = 0; i < DeliveryHistory::kIntervals + 5; ++i) history_.sample();
  const auto seen = history_.intervals("payments");
  ASSERT_EQ(seen.size(), DeliveryHistory::kIntervals);
  EXPECT_EQ(seen.front(), GroupCounts{}) << "the first one has passed";
}

}  // namespace
}  // namespace semel::telemetry
