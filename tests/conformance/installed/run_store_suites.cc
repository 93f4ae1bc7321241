// The suites for stores from outside the tree: all of them, for the cases that a program brings.
// Only the installed library has this file; the tree's own programs name the suites of a store.
#include <gtest/gtest.h>

#include <utility>

#include "tests/conformance/finish_model.h"
#include "tests/conformance/store_case.h"
#include "tests/conformance/store_model.h"
#include "tests/conformance/unit_model.h"
#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

// GoogleTest asks for them when it begins, by functions without arguments.
std::vector<StoreCase>& all_cases() {
  static std::vector<StoreCase> cases;
  return cases;
}

std::vector<StoreCase> cases_with(Facet facet) {
  std::vector<StoreCase> cases = all_cases();
  std::erase_if(cases, [&](const StoreCase& one) { return one.lacks.contains(facet); });
  return cases;
}

std::vector<StoreCase> cases_without(Facet facet) {
  std::vector<StoreCase> cases = all_cases();
  std::erase_if(cases, [&](const StoreCase& one) { return !one.lacks.contains(facet); });
  return cases;
}

// A facet that a case lacks: one skipped test for each, so that a run says what it did not look at.
struct Lack {
  std::string store;
  Facet facet;
};
void PrintTo(const Lack& lack, std::ostream* out) {
  *out << lack.store << "_" << to_string(lack.facet);
}

std::vector<Lack> all_lacks() {
  std::vector<Lack> lacks;
  for (const StoreCase& one : all_cases()) {
    for (const Facet facet : one.lacks) lacks.push_back({one.name, facet});
  }
  return lacks;
}

class FacetSuite : public testing::TestWithParam<Lack> {};

TEST_P(FacetSuite, IsDeclaredMissing) {
  GTEST_SKIP() << "declared: no StoreFacets::" << to_string(GetParam().facet)
               << ", so its suites are not run";
}

#define SEMEL_SUITE(Suite, cases)                                   \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);             \
  INSTANTIATE_TEST_SUITE_P(Stores, Suite, testing::ValuesIn(cases), \
                           testing::PrintToStringParamName())

INSTANTIATE_TEST_SUITE_P(Stores, StoreSuite, testing::ValuesIn(all_cases()), kStoreCaseName);
INSTANTIATE_TEST_SUITE_P(Stores, StoreModelSuite, testing::ValuesIn(all_cases()), kStoreCaseName);
SEMEL_SUITE(FacetSuite, all_lacks());
INSTANTIATE_TEST_SUITE_P(Stores, WithoutMessagesSuite,
                         testing::ValuesIn(cases_without(Facet::kHeld)), kStoreCaseName);
SEMEL_SUITE(HeldSuite, cases_with(Facet::kHeld));
SEMEL_SUITE(HeldLinesSuite, cases_with(Facet::kHeld));
SEMEL_SUITE(FinishModelSuite, cases_with(Facet::kHeld));
SEMEL_SUITE(DeadLetterSuite, cases_with(Facet::kDeadLetters));
SEMEL_SUITE(RecordsSuite, cases_with(Facet::kRecords));
SEMEL_SUITE(PositionsSuite, cases_with(Facet::kPositions));
SEMEL_SUITE(RunMarkersSuite, cases_with(Facet::kRuns));
SEMEL_SUITE(GatesSuite, cases_with(Facet::kGates));
SEMEL_SUITE(StepsSuite, cases_with(Facet::kSteps));
SEMEL_SUITE(AuditSuite, cases_with(Facet::kAudit));
SEMEL_SUITE(UnitSuite, cases_with(Facet::kTransactional));
SEMEL_SUITE(UnitStatementSuite, cases_with(Facet::kTransactional));
SEMEL_SUITE(UnitModelSuite, cases_with(Facet::kTransactional));

#undef SEMEL_SUITE

}  // namespace

int run_store_suites(int argc, char** argv, std::vector<StoreCase> cases) {
  all_cases() = std::move(cases);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace semel::conformance
