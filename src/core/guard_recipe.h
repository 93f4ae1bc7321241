// The recipe of a consumer whose callers give the key with each call.
#pragma once

#include <string_view>

namespace semel::core {

// Stored as its recipe hash, and the hash of no recipe: a run's consumer of the same name has
// another one.
inline constexpr std::string_view kGuardRecipe = "guard";

}  // namespace semel::core
