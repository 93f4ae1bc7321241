#include "tests/cli/server_scene.h"
#include "tests/cli/steps_scene.h"

namespace semel::test {

std::vector<StepsGround> steps_grounds() {
  std::vector<StepsGround> grounds;
  for (const ServerKind& kind : server_kinds()) {
    grounds.push_back({name_of_kind(kind), [kind](std::string_view consumer) {
                         return std::unique_ptr<StepsScene>(
                             std::make_unique<StepsSceneOn<ServerScene>>(kind, consumer));
                       }});
  }
  return grounds;
}

}  // namespace semel::test
