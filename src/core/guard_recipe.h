// The recipe of a consumer whose callers give the key with each call.
#pragma once

#include <string_view>

namespace semel::core {

// Stored as the recipe hash. It is the hash of no recipe, so a runner's consumer of the same name
// differs.
inline constexpr std::string_view kGuardRecipe = "guard";

}  // namespace semel::core
