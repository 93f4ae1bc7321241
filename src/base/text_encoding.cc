#include "base/text_encoding.h"

#include <cstdint>

namespace semel::text {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase32 = "abcdefghijklmnopqrstuvwxyz234567";

// `bits` at a time, the last ones padded with zeros.
std::string regrouped(BytesView bytes, unsigned bits, std::string_view alphabet) {
  std::string text;
  text.reserve(bytes.size() * 8 / bits + 4);
  std::uint32_t held = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    held = (held << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= bits; count -= bits) {
      text += alphabet[(held >> (count - bits)) & ((1U << bits) - 1)];
    }
  }
  if (count > 0) text += alphabet[(held << (bits - count)) & ((1U << bits) - 1)];
  return text;
}

}  // namespace

std::string base64(BytesView bytes) {
  std::string text = regrouped(bytes, 6, kBase64);
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::optional<Bytes> from_base64(std::string_view text) {
  std::string_view digits = text;
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) digits.remove_suffix(1);
  Bytes bytes;
  std::uint32_t held = 0;
  unsigned count = 0;
  for (const char c : digits) {
    const auto value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6) | static_cast<std::uint32_t>(value);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>((held >> count) & 0xFF);
  }
  if (base64(bytes) != text) return std::nullopt;
  return bytes;
}

std::string base32(BytesView bytes) { return regrouped(bytes, 5, kBase32); }

}  // namespace semel::text
