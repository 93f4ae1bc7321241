#include "engine/batch_size.h"

#include <gtest/gtest.h>

namespace semel::engine {
namespace {

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

TEST(BatchSize, NeverFallsBelowOne) {
  BatchSize size(1, 100, milliseconds(20));
  size.ran(1, milliseconds(500));
  EXPECT_EQ(size.limit(), 1u);
}

TEST(BatchSize, NearTheTargetItStays) {
  BatchSize size(40, 100, milliseconds(20));
  size.ran(40, milliseconds(15));
  EXPECT_EQ(size.limit(), 40u);
}

}  // namespace
}  // namespace semel::engine
