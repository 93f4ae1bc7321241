// After a deadlock a consumer's transactions run one at a time.
#include "tests/conformance/strategy/deadlock_suite.h"

namespace semel::conformance {
namespace {

TEST_P(DeadlockSuite, AfterOneTheWorkersOfAProcessTakeTurns) {
  const auto workers = strategy(both_rows());
  deadlock(*workers, *workers);
  EXPECT_EQ(most_at_a_time(*workers, *workers), 1);
}

TEST_P(DeadlockSuite, AfterOneInEachProcessTheyTakeTurns) {
  const auto one = strategy(both_rows());
  const auto other = strategy_on(*other_, both_rows());
  deadlock(*one, *one);
  deadlock(*other, *other);
  EXPECT_EQ(most_at_a_time(*one, *other), 1);
}

}  // namespace
}  // namespace semel::conformance
