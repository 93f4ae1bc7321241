// A number in a path or a query.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace semel::admin {

// Not negative; nullopt for any other text.
inline std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace semel::admin
