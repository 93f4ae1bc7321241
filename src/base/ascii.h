// Letters, digits and control characters of ASCII, independent of the locale; other bytes stay
// unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::ascii {

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

inline std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = lower(c);
  return made;
}
inline std::string upper(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = upper(c);
  return made;
}

// Equal, ignoring the case of letters.
constexpr bool alike(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

constexpr bool begins_alike(std::string_view text, std::string_view with) noexcept {
  return alike(text.substr(0, with.size()), with);
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace semel::ascii
