// The memory store joins the strategy suite: it has no transactions.
#include <semel/memory.h>

#include "tests/conformance/strategy/age_gate_suite.h"
#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

class MemoryPlace final : public StrategyPlace {
 public:
  std::unique_ptr<Store> open() override { return make_memory_store(); }
  std::int64_t sql(const std::string&) override { return 0; }
};

std::unique_ptr<StrategyPlace> make_memory_place() { return std::make_unique<MemoryPlace>(); }

INSTANTIATE_TEST_SUITE_P(Memory, StrategySuite,
                         testing::ValuesIn(cases_of("memory", make_memory_place, false)),
                         testing::PrintToStringParamName());
using Outside = StrategyCase::Outside;
const StrategyCase kPlain{"memory", make_memory_place, StrategyKind::kStateMachine, false};
const StrategyCase kAsync{"memory", make_memory_place, StrategyKind::kStateMachine, false,
                          Outside::kAsync};
const StrategyCase kBatch{"memory", make_memory_place, StrategyKind::kStateMachine, false,
                          Outside::kBatch};
INSTANTIATE_TEST_SUITE_P(Memory, RecordStrategySuite, testing::Values(kPlain, kAsync, kBatch),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, LeaseStrategySuite, testing::Values(kPlain),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Memory, AgeGateSuite,
                         testing::ValuesIn(age_gate_cases("memory", make_memory_place, false)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, AtMostOnceSuite,
                         testing::ValuesIn(at_most_once_cases("memory", make_memory_place)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
