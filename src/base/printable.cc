#include "base/printable.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace semel {
namespace {

// Valid UTF-8 of more than one byte.
unsigned code_point(std::string_view character) noexcept {
  constexpr unsigned kFirstBits[] = {0, 0, 0x1F, 0x0F, 0x07};
  unsigned made = static_cast<unsigned char>(character[0]) & kFirstBits[character.size()];
  for (const char c : character.substr(1)) made = made << 6U | (static_cast<unsigned>(c) & 0x3FU);
  return made;
}

bool is_plain(char c) noexcept { return c >= ' ' && c <= '~'; }

}  // namespace

bool is_unprintable(std::string_view character) noexcept {
  if (character.size() < 2) return is_control(character);
  constexpr unsigned kArabicLetterMark = 0x61C;
  const unsigned code = code_point(character);
  const auto within = [code](unsigned first, unsigned last) {
    return code >= first && code <= last;
  };
  // C1; the two marks; line and paragraph separator, embeddings and overrides; isolates.
  return is_control(character) || code == kArabicLetterMark || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

void take_printable(std::string& out, std::string_view& text) {
  const std::size_t length = utf8_length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(character.size());
  if (length > 0 && !is_unprintable(character)) {
    out += character;
  } else if (length < 2) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(character[0]));
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point(character));
  }
}

std::string printable_text(std::string_view text, std::string_view kept) {
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    if (kept.find(text[0]) != std::string_view::npos) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      take_printable(out, text);
    }
  }
  return out;
}

std::string printable_start(std::string_view text, std::size_t longest) {
  std::string out;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == longest) return out + "…";
    take_printable(out, text);
  }
  return out;
}

std::string printable_json(std::string_view document) {
  constexpr char kDelete = '\x7F';
  std::string out;
  while (!document.empty()) {
    const std::size_t length = utf8_length(document);
    const std::string_view character = document.substr(0, std::max<std::size_t>(length, 1));
    if (character[0] == kDelete) {
      out += "\\u007f";
    } else if (length > 1 && is_unprintable(character)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point(character));
    } else {
      out += character;
    }
    document.remove_prefix(character.size());
  }
  return out;
}

}  // namespace semel
