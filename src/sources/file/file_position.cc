#include "sources/file/file_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

namespace semel::sources {

namespace {

constexpr std::size_t kHashed = 4 << 10;
constexpr std::string_view kForm = "1";

// Removes and returns the next word of `text`.
std::string_view word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view found = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return found;
}

bool number(std::string_view text, std::uint64_t& into, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t part) noexcept {
  return std::rotl((hash ^ part) * 0x9E3779B97F4A7C15ULL, 29);
}

}  // namespace

Bytes encode(std::span<const FilePosition> positions) {
  Bytes text(kForm);
  for (const auto& [inode, last] : positions) {
    text += fmt::format(" {} {} {} {:016x}", inode, last.span.begin, last.span.end, last.hash);
  }
  return text;
}

std::optional<std::vector<FilePosition>> decode(BytesView text) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (word(text) != kForm) return std::nullopt;
  std::vector<FilePosition> positions;
  while (!text.empty()) {
    auto& [inode, last] = positions.emplace_back();
    if (!number(word(text), inode) || !number(word(text), last.span.begin) ||
        !number(word(text), last.span.end) || !number(word(text), last.hash, 16)) {
      return std::nullopt;
    }
    if (last.span.begin > last.span.end || last.span.end > kMost) return std::nullopt;
    if (last.span.begin == last.span.end && last.span.end != 0) return std::nullopt;
  }
  return positions;
}

LineSpan hashed_part(const LineSpan& line) noexcept {
  return {line.end - std::min<std::uint64_t>(line.size(), kHashed), line.end};
}

std::uint64_t line_hash(BytesView line) noexcept {
  if (line.size() > kHashed) line.remove_prefix(line.size() - kHashed);
  std::uint64_t hash = mixed(0x53656D656CULL, line.size());
  while (line.size() >= sizeof(std::uint64_t)) {
    std::uint64_t part = 0;
    std::memcpy(&part, line.data(), sizeof part);
    hash = mixed(hash, part);
    line.remove_prefix(sizeof part);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, line.data(), line.size());
  hash = mixed(hash, rest);
  return hash ^ (hash >> 32);
}

bool still_there(int fd, const FilePosition& position) {
  if (position.last.span.size() == 0) return true;
  const LineSpan part = hashed_part(position.last.span);
  Bytes text;
  return load_line(fd, part, part.size(), text) && line_hash(text) == position.last.hash;
}

}  // namespace semel::sources
