// Hides values of a JSON document, so that the rest of it may be shown. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace semel::json {

// Stands in the place of what is hidden: a string, whatever the value was.
inline constexpr std::string_view kHidden = "\"***\"";

// The document with the value at each pointer hidden, whole where it is an object or an array; the
// rest is as it was written. A part `*` of a pointer stands for every element and every member. A
// name that stands twice in an object is hidden both times, and one that is written with escapes
// too. nullopt where the text is no JSON: nobody knows then where the values stand.
std::optional<std::string> masked(std::string_view text, std::span<const Pointer> pointers);

}  // namespace semel::json
