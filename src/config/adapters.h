// Which adapters this build has: a config that names another one is refused.
#pragma once

#include <string_view>
#include <vector>

namespace semel::config {

// The adapters that it lacks, each by its CMake option's name after SEMEL_WITH_: "KAFKA".
std::vector<std::string_view> missing_adapters();

}  // namespace semel::config
