#include "strategies/pipeline_stats.h"

#include <gtest/gtest.h>

namespace semel::strategies {
namespace {

TEST(HopelessRun, HasRoomForAFewOfAllBatchesTogether) {
  HopelessRun run;
  for (int i = 0; i < HopelessRun::kMost; ++i) EXPECT_TRUE(run.take());
  EXPECT_FALSE(run.take());
  run.give_back(1);
  EXPECT_TRUE(run.take());
  EXPECT_FALSE(run.take());
  run.end();
  EXPECT_TRUE(run.take());
}

TEST(HopelessRun, WhatIsGivenBackAfterASuccessMakesNoMoreRoom) {
  HopelessRun run;
  EXPECT_TRUE(run.take());
  run.end();
  run.give_back(1);
  for (int i = 0; i < HopelessRun::kMost; ++i) EXPECT_TRUE(run.take());
  EXPECT_FALSE(run.take());
}

TEST(HopelessRun, CountsWhatIsADeadLetterAlready) {
  HopelessRun run;
  for (int i = 1; i <= HopelessRun::kMost; ++i) EXPECT_EQ(run.add(), i);
  EXPECT_FALSE(run.take());
}

TEST(PipelineStats, HaveOneGroupForEachConsumer) {
  EXPECT_EQ(make_pipeline_stats("a")->group.bytes, make_pipeline_stats("a")->group.bytes);
  EXPECT_NE(make_pipeline_stats("a")->group.bytes, make_pipeline_stats("b")->group.bytes);
}

}  // namespace
}  // namespace semel::strategies
