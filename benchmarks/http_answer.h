// The answer over HTTP that a benchmark's client reads.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "benchmarks/measure.h"

namespace semel::bench {

// The body of the answer that `read` begins with, once it has come whole. Gives up with the text
// that `complaint` returns where the answer is not a 200 that says its length.
template <class Complaint>
std::optional<std::string_view> whole_body(std::string_view read, const Complaint& complaint) {
  constexpr std::string_view kEnd = "\r\n\r\n", kLength = "Content-Length: ";
  const auto end = read.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  const auto length = read.find(kLength);
  if (!read.starts_with("HTTP/1.1 200") || length > end) give_up(complaint());
  std::size_t size = 0;
  const char* const digits = read.data() + length + kLength.size();
  (void)std::from_chars(digits, read.data() + end, size);
  const std::string_view behind = read.substr(end + kEnd.size());
  if (behind.size() < size) return std::nullopt;
  return behind.substr(0, size);
}

}  // namespace semel::bench
