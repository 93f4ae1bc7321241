#include "core/reconnect_pause.h"

#include <gtest/gtest.h>

#include <limits>

namespace semel::core {
namespace {

using std::chrono::milliseconds;

TEST(ReconnectPause, EachNodeIsTriedBeforeItWaits) {
  EXPECT_EQ(pause_before(0, 3, 77), milliseconds(0));
  EXPECT_EQ(pause_before(2, 3, 77), milliseconds(0));
  EXPECT_GT(pause_before(3, 3, 77), milliseconds(0));
}

TEST(ReconnectPause, GrowsToABoundAndIsNeverTheSameForAll) {
  EXPECT_LT(pause_before(1, 1, 0), pause_before(5, 1, 0));
  EXPECT_NE(pause_before(5, 1, 0), pause_before(5, 1, 7));
  for (const std::uint64_t random : {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_LE(pause_before(1'000'000, 1, random), milliseconds(2'000));
    EXPECT_GE(pause_before(1'000'000, 1, random), milliseconds(1'000));
  }
}

}  // namespace
}  // namespace semel::core
