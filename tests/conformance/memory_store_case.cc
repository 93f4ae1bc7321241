// The memory store joins the suites.
#include <semel/memory.h>

#include <utility>

#include "tests/conformance/finish_model.h"
#include "tests/conformance/store_case.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

class MemoryPlace final : public StorePlace {
 public:
  std::unique_ptr<Store> open() override {
    MemoryOptions options;
    options.environment = &environment_;
    return make_memory_store(options);
  }
  void advance(milliseconds by) override { clock_.advance(by); }
  bool draw_only(std::optional<std::uint64_t> number) override {
    random_.set(number);
    return true;
  }
  bool set_back(milliseconds by) override {
    clock_.advance(-by);
    return true;
  }

 private:
  test::ManualClock clock_;
  test::SettableRandom random_;
  Environment environment_{&clock_, &random_, nullptr};
};

// The suites of what it lacks are not its own.
const auto kMemory =
    testing::Values(StoreCase{"memory",
                              [] { return std::unique_ptr<StorePlace>(new MemoryPlace()); },
                              {Facet::kTransactional, Facet::kRuns, Facet::kLive}});

INSTANTIATE_TEST_SUITE_P(Memory, StoreSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, StoreModelSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, FinishModelSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, HeldLinesSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, HeldSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, DeadLetterSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, RecordsSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, PositionsSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, GatesSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, AuditSuite, kMemory, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Memory, StepsSuite, kMemory, testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
