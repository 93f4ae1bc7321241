#include "clients/sqs/query_protocol.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace semel::sqs {

std::string form_encoded(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    made += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return made;
}

std::string_view between_tags(std::string_view xml, std::string_view name) {
  std::string_view found;
  bool first = true;
  each_between(xml, name, [&](std::string_view content) {
    if (std::exchange(first, false)) found = content;
  });
  return found;
}

void each_between(std::string_view xml, std::string_view name,
                  const std::function<void(std::string_view content)>& see) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  for (auto begin = xml.find(open); begin != std::string_view::npos; begin = xml.find(open)) {
    xml.remove_prefix(begin + open.size());
    const auto end = xml.find(close);
    if (end == std::string_view::npos) return;
    see(xml.substr(0, end));
    xml.remove_prefix(end + close.size());
  }
}

std::string xml_text(std::string_view written) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEscapes = {
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
  std::string made;
  while (!written.empty()) {
    std::size_t taken = 1;
    char meant = written.front();
    for (const auto& [escape, character] : kEscapes) {
      if (!written.starts_with(escape)) continue;
      taken = escape.size();
      meant = character;
    }
    made += meant;
    written.remove_prefix(taken);
  }
  return made;
}

}  // namespace semel::sqs
