#include "stores/sql/purge.h"

#include <gtest/gtest.h>

#include "tests/support/test_environment.h"

namespace semel::sql {
namespace {

using std::chrono::milliseconds;

TEST(PurgeBudget, ALookThatTakesAllOfItLeavesWhatComesAfterItsTime) {
  test::ManualClock clock;
  PurgeBudget budget(clock, milliseconds(200));
  EXPECT_FALSE(budget.ended());
  clock.advance(milliseconds(300));
  budget.found_nothing();
  EXPECT_FALSE(budget.ended());
  EXPECT_FALSE(budget.more());
  clock.advance(milliseconds(200));
  EXPECT_TRUE(budget.ended());
  budget.found_nothing();
  EXPECT_TRUE(budget.ended()) << "what was left stays left";
}

}  // namespace
}  // namespace semel::sql
