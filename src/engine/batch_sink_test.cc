#include "engine/batch_sink.h"

#include <gtest/gtest.h>

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

class BatchSinkTest : public ::testing::Test {
 protected:
  BatchSink sink_{
      [](Delivery& delivery, Outcome&) { return Landing::of(delivery, Settlement::Kind::kAck); },
      [] {}};
};

TEST_F(BatchSinkTest, WhatABatchWaitedIsNotItsOwnTime) {
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), milliseconds(1'020));
  sink_.waited(milliseconds(600));
  sink_.waited(milliseconds(400));
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), milliseconds(20));
  EXPECT_EQ(sink_.own_time(milliseconds(900)), milliseconds(0));
}

TEST_F(BatchSinkTest, WhoWaitedNobodyKnowsHowLongTellsNothing) {
  sink_.waited(std::nullopt);
  sink_.waited(milliseconds(1));
  EXPECT_EQ(sink_.own_time(milliseconds(1'020)), std::nullopt);
}

}  // namespace
}  // namespace semel::engine
