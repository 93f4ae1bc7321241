#include "core/ack_pace.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using std::chrono::milliseconds;

const AckPace::Time kBegin{};

TEST(AckPace, AFewWaitAMomentForOthers) {
  AckPace pace(200);
  EXPECT_FALSE(pace.are_due(0, kBegin));
  EXPECT_FALSE(pace.due());
  EXPECT_FALSE(pace.are_due(1, kBegin));
  ASSERT_TRUE(pace.due());
  const AckPace::Time due = *pace.due();
  EXPECT_GT(due, kBegin);
  EXPECT_FALSE(pace.are_due(2, due - milliseconds(1))) << "others do not put it off";
  EXPECT_EQ(pace.due(), due);
  EXPECT_TRUE(pace.are_due(2, due));
  EXPECT_FALSE(pace.due());
}

TEST(AckPace, ManyWaitForNone) {
  AckPace pace(200);
  EXPECT_FALSE(pace.are_many(49));
  EXPECT_TRUE(pace.are_many(50)) << "a quarter of the prefetch";
  EXPECT_FALSE(pace.are_due(49, kBegin));
  EXPECT_TRUE(pace.are_due(50, kBegin));
  EXPECT_FALSE(pace.due());
  EXPECT_FALSE(AckPace(65'535).are_many(99));
  EXPECT_TRUE(AckPace(65'535).are_many(100));
}

TEST(AckPace, APrefetchOfOneIsAcknowledgedAtOnce) {
  AckPace pace(1);
  EXPECT_FALSE(pace.are_many(0));
  EXPECT_TRUE(pace.are_due(1, kBegin));
}

TEST(AckPace, ABatchAndAWaitOfItsOwn) {
  AckPace pace(10, milliseconds(20));
  EXPECT_FALSE(pace.are_due(9, kBegin));
  EXPECT_EQ(pace.due(), kBegin + milliseconds(20));
  EXPECT_TRUE(pace.are_due(10, kBegin));
  EXPECT_FALSE(pace.due());
  EXPECT_TRUE(AckPace(0, milliseconds(20)).are_due(1, kBegin)) << "one is many";
}

TEST(AckPace, WithTheConnectionTheWaitIsOver) {
  AckPace pace(200);
  EXPECT_FALSE(pace.are_due(1, kBegin));
  pace.forget();
  EXPECT_FALSE(pace.due());
}

}  // namespace
}  // namespace semel::core
