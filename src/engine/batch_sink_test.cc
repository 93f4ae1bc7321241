#include "engine/batch_sink.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

class BatchSinkTest : public ::testing::Test {
 protected:
  BatchSink sink_{[](core::TrackedDelivery& delivery, Outcome&) {
                    return Landing::of(delivery, Settlement::Kind::kAck);
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

// If the first delivery of a line landed first, the engine would place later ones before the
// follower.
TEST_F(BatchSinkTest, WhatWasLeftLandsNoLaterThanWhatItFollows) {
  core::TrackedDelivery left = test::make_delivery(ConsumerNumber{1}, "left");
  core::TrackedDelivery kept = test::make_delivery(ConsumerNumber{1}, "kept");
  core::TrackedDelivery first = test::make_delivery(ConsumerNumber{1}, "first");
  BatchSink sink(
      [&](core::TrackedDelivery& delivery, Outcome&) {
        Landing landing = Landing::of(delivery, Settlement::Kind::kRelease);
        landing.left = &delivery == &left;
        if (&delivery != &first) landing.keep = &delivery;
        return landing;
      },
      [] {});
  for (core::TrackedDelivery* const delivery : {&left, &kept, &first}) {
    sink.ended(*delivery, Outcome());
  }
  std::vector<Landing> landings;
  sink.collect(landings);
  ASSERT_EQ(landings.size(), 2U);
  EXPECT_EQ(landings[0].keep, &left);
  EXPECT_EQ(landings[1].ordering_key, first.message.ordering_key());
  sink.collect_all(landings);
  EXPECT_EQ(landings.size(), 3U);
}

TEST_F(BatchSinkTest, WhoWaitedNobodyKnowsHowLongTellsNothing) {
  sink_.waited(std::nullopt);
  sink_.waited(milliseconds(1));
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), std::nullopt);
}

}  // namespace
}  // namespace semel::engine
