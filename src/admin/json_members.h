// Members of the JSON objects in a body, which was found good JSON before.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace semel::admin {

// A fault, in words; empty: there is none.
using Wrong = std::string;

// The string that stands there; nullopt: something else does.
std::optional<std::string> string_in(std::string_view value);

// The most members of an object that may be known.
inline constexpr std::size_t kMostMembers = 32;

// Calls `use` with each member of an object in text that was found good, each of which is one of
// `known` and stands there once. Ends with the first fault.
Wrong each_member(std::string_view object, std::span<const std::string_view> known,
                  const std::function<Wrong(std::string_view name, std::string_view value)>& use);

// Calls `use` with each element of the array `name`. Ends with the first fault, which says where.
Wrong each_element(std::string_view name, std::string_view array, std::size_t most,
                   const std::function<Wrong(std::string_view element)>& use);

}  // namespace semel::admin
