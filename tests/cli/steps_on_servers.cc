#include "tests/cli/server_test_bed.h"
#include "tests/cli/steps_test_bed.h"

namespace semel::test {

std::vector<StepsDatabase> steps_grounds() {
  std::vector<StepsDatabase> grounds;
  for (const ServerKind& kind : server_kinds()) {
    grounds.push_back({name_of_kind(kind), [kind](std::string_view consumer) {
                         return std::unique_ptr<StepsTestBed>(
                             std::make_unique<StepsTestBedOn<ServerTestBed>>(kind, consumer));
                       }});
  }
  return grounds;
}

}  // namespace semel::test
