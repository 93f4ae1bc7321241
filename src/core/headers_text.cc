#include "core/headers_text.h"

#include <charconv>
#include <optional>

namespace semel::core {
namespace {

void append_sized(std::string& text, BytesView part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
  text += ',';
}

std::optional<BytesView> next_part(BytesView& text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits >= text.size() || text[digits] != ':') return std::nullopt;
  text.remove_prefix(digits + 1);
  if (size >= text.size() || text[size] != ',') return std::nullopt;
  const BytesView part = text.substr(0, size);
  text.remove_prefix(size + 1);
  return part;
}

}  // namespace

std::string text_of(const Headers& headers) {
  std::string text;
  for (const Header& header : headers) {
    append_sized(text, header.name);
    append_sized(text, header.value);
  }
  return text;
}

Headers headers_of(BytesView text) {
  Headers headers;
  while (!text.empty()) {
    const auto name = next_part(text);
    const auto value = name ? next_part(text) : std::nullopt;
    if (!value) break;
    headers.push_back({std::string(*name), Bytes(*value)});
  }
  return headers;
}

}  // namespace semel::core
