// The rule for names of consumers, which configs, guards and commands share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.h"

namespace semel::core {

inline constexpr std::size_t kLongestName = 63;
// For errors.
inline constexpr std::string_view kNameRule = "a name is [a-z][a-z0-9_-]{0,62}";

constexpr bool is_name(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_inner = [&](char c) {
    return is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kLongestName && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), is_inner);
}

}  // namespace semel::core
