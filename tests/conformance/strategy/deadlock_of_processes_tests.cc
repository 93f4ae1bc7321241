// After a deadlock in one process the other one takes turns with it too.
#include "tests/conformance/strategy/deadlock_suite.h"

namespace semel::conformance {
namespace {

TEST_P(DeadlockOfProcessesSuite, AfterOneInEitherProcessBothTakeTurns) {
  const auto one = strategy(both_rows());
  const auto other = strategy_on(*other_, both_rows());
  deadlock(*one, *other);
  EXPECT_EQ(most_at_a_time(*one, *other), 1);
}

}  // namespace
}  // namespace semel::conformance
