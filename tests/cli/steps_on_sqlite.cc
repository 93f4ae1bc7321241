#include "tests/cli/steps_scene.h"

namespace semel::test {

std::vector<StepsGround> steps_grounds() {
  return {{"Sqlite", [](std::string_view consumer) -> std::unique_ptr<StepsScene> {
             return std::make_unique<StepsSceneOn<Scene>>(consumer);
           }}};
}

}  // namespace semel::test
