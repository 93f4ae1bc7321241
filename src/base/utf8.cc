#include "base/utf8.h"

#include <cstdint>
#include <cstring>

#include "base/ascii.h"

namespace semel {
namespace {

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// How many bytes at the beginning of `text` are ASCII, in whole words: most messages are pure
// ASCII, and each word takes a few instructions.
std::size_t ascii_words(std::string_view text) noexcept {
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  std::size_t at = 0;
  for (std::uint64_t word; text.size() - at >= sizeof word; at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighs) != 0) break;
  }
  return at;
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool beyond = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
  for (;;) {
    text.remove_prefix(ascii_words(text));
    do {
      if (text.empty()) return true;
      const std::size_t length = utf8_length(text);
      if (length == 0) return false;
      text.remove_prefix(length);
    } while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0x80) != 0);
  }
}

bool is_control(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return ascii::is_control(character[0]);
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace semel
