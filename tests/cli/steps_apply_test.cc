// A second part behind the steps, by the real program, on each store with transactions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/steps_test_bed.h"

namespace semel::test {
namespace {

class StepsThenApply : public testing::TestWithParam<StepsDatabase> {};

TEST_P(StepsThenApply, TheSecondPartCommitsWithTheRecordAndItsRefusalUndoesAll) {
  using Calls = std::vector<std::string>;
  const StepsService service;
  const auto bed = GetParam().make(service.consumer() + std::string(kStepsApply));
  bed->sql(kOrdersTable);
  bed->send();
  bed->send("o-2");
  const Ran ran = bed->run_once();
  EXPECT_EQ(bed->number("SELECT count(*) FROM orders WHERE status = 'PAID'"), 1) << ran.err;
  EXPECT_EQ(bed->record("state"), "completed");
  // They may run beside each other.
  Calls of_one;
  Calls of_none;
  for (const std::string& call : service.calls()) {
    (call.find(" o-1/") != std::string::npos ? of_one : of_none).push_back(call);
  }
  EXPECT_EQ(of_one, (Calls{"/lock o-1/lock_stock", "/charge o-1/charge"}));
  EXPECT_EQ(of_none, (Calls{"/lock o-2/lock_stock", "/charge o-2/charge", "/refund o-2/charge/undo",
                            "/unlock o-2/lock_stock/undo"}))
      << "there is no such order";
}

INSTANTIATE_TEST_SUITE_P(Stores, StepsThenApply, testing::ValuesIn(steps_grounds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
