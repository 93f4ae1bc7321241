#include "core/unique_rules.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace semel::core {
namespace {

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(" \t\n\"`[]").find(c) == std::string_view::npos) out += ascii::lower(c);
  }
  return out;
}

bool in_type_name(char c) {
  const bool letter = c >= 'a' && c <= 'z';
  const bool digit = c >= '0' && c <= '9';
  return letter || digit || c == '_' || c == '.';
}

// Makes lower((email)::text) and lower(email) equal.
std::string without_casts(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c != '(' && c != ')') bare += c;
  }
  constexpr std::string_view kCast = "::";
  for (auto at = bare.find(kCast); at != std::string::npos; at = bare.find(kCast)) {
    auto end = at + kCast.size();
    while (end < bare.size() && in_type_name(bare[end])) ++end;
    bare.erase(at, end - at);
  }
  return bare;
}

bool means(const std::string& rule, const UniqueName& name) {
  const std::string schema = plain(name.schema) + '.';
  const auto is = [&](const std::string& text) { return rule == text || rule == schema + text; };
  if (is(plain(name.constraint))) return true;
  if (name.columns.empty()) return false;
  const std::string by_columns = plain(name.table) + '(' + plain(name.columns) + ')';
  if (is(by_columns)) return true;
  // A plain list of columns has no other spelling.
  if (name.columns.find('(') == std::string::npos) return false;
  const std::string bare = without_casts(rule);
  return bare == without_casts(by_columns) || bare == without_casts(schema + by_columns);
}

}  // namespace

const UniqueRule* rule_for(const std::vector<UniqueRule>& rules,
                           std::span<const UniqueName> names) {
  const auto found = std::ranges::find_if(rules, [&](const UniqueRule& rule) {
    const std::string written = plain(rule.constraint);
    return std::ranges::any_of(names, [&](const UniqueName& name) { return means(written, name); });
  });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<UniqueRule> idle_rules(const std::vector<UniqueRule>& rules,
                                   std::span<const UniqueName> names) {
  std::vector<UniqueRule> idle;
  for (const UniqueRule& rule : rules) {
    if (rule_for({rule}, names) == nullptr) idle.push_back(rule);
  }
  return idle;
}

}  // namespace semel::core
