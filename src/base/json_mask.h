// Hides values of a JSON document, so that the rest of it may be shown. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace semel::json {

// Replaces a hidden value: a string, whatever the value was.
inline constexpr std::string_view kHidden = "\"***\"";

// The document with the value at each pointer hidden, completely where it is an object or an array;
// the rest is unchanged. A part `*` of a pointer matches every element and every member. A name
// that occurs twice in an object is hidden both times, and so is one written with escapes. nullopt
// where the text is no JSON: then the places of the values are unknown.
std::optional<std::string> masked(std::string_view text, std::span<const Pointer> pointers);

}  // namespace semel::json
