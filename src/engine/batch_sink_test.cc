#include "engine/batch_sink.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

class BatchSinkTest : public ::testing::Test {
 protected:
  BatchSink sink_{[](core::TrackedDelivery& delivery, Outcome&) {
                    return PendingSettlement::of(delivery, Settlement::Kind::kAck);
                  },
                  [] {}};
};

TEST_F(BatchSinkTest, WhatABatchWaitedIsNotItsOwnTime) {
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), milliseconds(1'020));
  sink_.waited(milliseconds(600));
  sink_.waited(milliseconds(400));
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), milliseconds(20));
  EXPECT_EQ(sink_.own_time(milliseconds(900)), milliseconds(0));
}

// If the first delivery of an ordering group landed first, the engine would place later ones before
// the follower.
TEST_F(BatchSinkTest, WhatWasLeftLandsNoLaterThanWhatItFollows) {
  core::TrackedDelivery left = test::make_delivery(ConsumerNumber{1}, "left");
  core::TrackedDelivery kept = test::make_delivery(ConsumerNumber{1}, "kept");
  core::TrackedDelivery first = test::make_delivery(ConsumerNumber{1}, "first");
  BatchSink sink(
      [&](core::TrackedDelivery& delivery, Outcome&) {
        PendingSettlement pending = PendingSettlement::of(delivery, Settlement::Kind::kRelease);
        pending.left = &delivery == &left;
        if (&delivery != &first) pending.keep = &delivery;
        return pending;
      },
      [] {});
  for (core::TrackedDelivery* const delivery : {&left, &kept, &first}) {
    sink.ended(*delivery, Outcome());
  }
  std::vector<PendingSettlement> pending_settlements;
  sink.collect(pending_settlements);
  ASSERT_EQ(pending_settlements.size(), 2U);
  EXPECT_EQ(pending_settlements[0].keep, &left);
  EXPECT_EQ(pending_settlements[1].lane, core::LaneName::of(first.message));
  sink.collect_all(pending_settlements);
  EXPECT_EQ(pending_settlements.size(), 3U);
}

TEST_F(BatchSinkTest, WhoWaitedNobodyKnowsHowLongTellsNothing) {
  sink_.waited(std::nullopt);
  sink_.waited(milliseconds(1));
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), std::nullopt);
}

}  // namespace
}  // namespace semel::engine
