// The memory store joins the strategy suite: it has no transactions.
#include <semel/memory.h>

#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

class MemoryPlace final : public StrategyPlace {
 public:
  std::unique_ptr<Store> open() override { return make_memory_store(); }
  std::int64_t sql(const std::string&) override { return 0; }
};

std::unique_ptr<StrategyPlace> make() { return std::make_unique<MemoryPlace>(); }

INSTANTIATE_TEST_SUITE_P(Memory, StrategySuite, testing::ValuesIn(cases_of("memory", make, false)),
                         testing::PrintToStringParamName());
const auto kStateMachine =
    testing::Values(StrategyCase{"memory", make, StrategyKind::kStateMachine, false});
INSTANTIATE_TEST_SUITE_P(Memory, RecordStrategySuite, kStateMachine,
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, LeaseStrategySuite, kStateMachine,
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
