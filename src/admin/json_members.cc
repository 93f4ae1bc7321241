#include "admin/json_members.h"

#include <algorithm>
#include <bitset>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_scan.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kMemberNameShown = 60;

}  // namespace

std::optional<std::string> string_in(std::string_view value) {
  if (!value.starts_with('"')) return std::nullopt;
  json::Scan scan(value);
  const json::RawString raw = scan.raw_string();
  return raw.escaped ? json::unescape(raw.text) : std::string(raw.text);
}

Wrong each_member(std::string_view object, std::span<const std::string_view> known,
                  const std::function<Wrong(std::string_view name, std::string_view value)>& use) {
  json::Scan scan(object);
  if (scan.peek() != '{') return "it is no JSON object";
  scan.step();
  scan.skip_space();
  std::bitset<kMostMembers> seen;
  while (scan.peek() != '}') {
    const json::RawString raw = scan.raw_string();
    const std::string name = raw.escaped ? json::unescape(raw.text) : std::string(raw.text);
    scan.skip_space();
    scan.step();
    scan.skip_space();
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      return fmt::format("unknown member \"{}\": there are {}",
                         operate::printable(name, kMemberNameShown), fmt::join(known, ", "));
    }
    const auto place = static_cast<std::size_t>(found - known.begin());
    if (seen.test(place)) return fmt::format("\"{}\" stands there twice", name);
    seen.set(place);
    if (Wrong wrong = use(*found, scan.skip_value()); !wrong.empty()) return wrong;
    scan.skip_space();
    if (scan.peek() != ',') break;
    scan.step();
    scan.skip_space();
  }
  return {};
}

Wrong each_element(std::string_view name, std::string_view array, std::size_t most,
                   const std::function<Wrong(std::string_view element)>& use) {
  json::Scan scan(array);
  if (scan.peek() != '[') return fmt::format("\"{}\" must be an array", name);
  scan.step();
  scan.skip_space();
  for (std::size_t i = 0; scan.peek() != ']'; ++i) {
    if (i == most) return fmt::format("there are more than {} {}", most, name);
    const Wrong wrong = use(scan.skip_value());
    if (!wrong.empty()) return fmt::format("{}[{}]: {}", name, i, wrong);
    scan.skip_space();
    if (scan.peek() != ',') break;
    scan.step();
    scan.skip_space();
  }
  return {};
}

}  // namespace semel::admin
