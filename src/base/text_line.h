// The rules for text lines that all readers of line-based messages share: file, standard input,
// `semel send`.
#pragma once

#include <algorithm>
#include <string_view>

namespace semel::text_line {

// The byte order mark that some programs write before the first line.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::string_view without_mark(std::string_view first_line) noexcept {
  if (first_line.starts_with(kByteOrderMark)) first_line.remove_prefix(kByteOrderMark.size());
  return first_line;
}

// Without the line feed at its end, and without a carriage return before that.
constexpr std::string_view without_ending(std::string_view line) noexcept {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A blank line is no message.
constexpr bool is_blank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
}

}  // namespace semel::text_line
