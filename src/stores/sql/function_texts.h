// The texts of the SQL functions, or procedures, by which a consumer in any language claims: each
// server has its own, in the folder functions/ of its room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace semel::sql {

// Grows with every change of a function, on whichever server.
inline constexpr int kFunctionsVersion = 3;

// A name in braces, as it is in the text, and its value.
using FunctionName = std::pair<std::string_view, std::string>;

// `text` with its {names} filled in: the server's own first, then those that all servers share: the
// version, the limits, the recipe of a consumer that only calls the functions.
std::string filled_functions(std::string text, std::span<const FunctionName> own);

}  // namespace semel::sql
