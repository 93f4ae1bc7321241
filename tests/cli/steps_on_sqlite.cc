#include "tests/cli/steps_test_bed.h"

namespace semel::test {

std::vector<StepsDatabase> steps_grounds() {
  return {{"Sqlite", [](std::string_view consumer) -> std::unique_ptr<StepsTestBed> {
             return std::make_unique<StepsTestBedOn<TestBed>>(consumer);
           }}};
}

}  // namespace semel::test
