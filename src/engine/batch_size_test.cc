#include "engine/batch_size.h"

#include <gtest/gtest.h>

namespace semel::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(BatchSize, GrowsWhileFullBatchesAreQuickAndStopsAtMax) {
  BatchSize size(1, 100, milliseconds(20));
  for (int i = 0; i < 50; ++i) size.ran(size.limit(), milliseconds(1));
  EXPECT_EQ(size.limit(), 100u);
}

TEST(BatchSize, PartialBatchesSayNothingAboutLargerOnes) {
  BatchSize size(10, 100, milliseconds(20));
  size.ran(3, milliseconds(1));
  EXPECT_EQ(size.limit(), 10u);
}

TEST(BatchSize, HalvesWhatWasSlow) {
  BatchSize size(100, 100, milliseconds(20));
  size.ran(100, milliseconds(21));
  EXPECT_EQ(size.limit(), 50u);
  size.ran(8, milliseconds(21));
  EXPECT_EQ(size.limit(), 4u);
}

// The size after many batches with a fixed cost each and a cost for each message.
BatchSize after_many(milliseconds own, microseconds each) {
  BatchSize size(100, 100, milliseconds(20));
  for (int i = 0; i < 200; ++i) size.ran(size.limit(), own + each * size.limit());
  return size;
}

TEST(BatchSize, SlowMessagesAreTakenFewAtATime) {
  const std::size_t limit = after_many(milliseconds(0), milliseconds(500)).limit();
  EXPECT_GE(limit, 1u);
  EXPECT_LE(limit, 2u);
}

TEST(BatchSize, WhatEachMessageTakesMakesBatchesSmaller) {
  const std::size_t limit = after_many(milliseconds(2), milliseconds(1)).limit();
  EXPECT_GE(limit, 6u);
  EXPECT_LE(limit, 18u);
}

TEST(BatchSize, WhatABatchTakesHoweverSmallDoesNot) {
  EXPECT_GE(after_many(milliseconds(60), microseconds(100)).limit(), 90u);
}

TEST(BatchSize, AServerThatIsSlowForATimeIsForgottenWhenItIsNot) {
  BatchSize size(100, 100, milliseconds(20));
  for (int i = 0; i < 50; ++i) size.ran(size.limit(), milliseconds(400));
  for (int i = 0; i < 50; ++i) size.ran(size.limit(), milliseconds(1) * size.limit());
  EXPECT_LE(size.limit(), 20u);
}

TEST(BatchSize, NearTheTargetItStays) {
  BatchSize size(40, 100, milliseconds(20));
  size.ran(40, milliseconds(15));
  EXPECT_EQ(size.limit(), 40u);
}

}  // namespace
}  // namespace semel::engine
