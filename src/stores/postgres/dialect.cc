#include "stores/postgres/dialect.h"

#include <cctype>

namespace semel::postgres {
namespace {

constexpr std::string_view kOurs = "semel_";

bool in_a_name(char c) noexcept {
  return c == '_' || c == '"' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + '\'';
}

std::string Dialect::translated(std::string_view shared) const {
  std::string out;
  out.reserve(shared.size() + 4 * prefix_.size());
  for (std::size_t at = 0; at < shared.size(); ++at) {
    const bool begins = at == 0 || !in_a_name(shared[at - 1]);
    if (shared[at] == '?') {
      out += '$';
    } else {
      if (begins && shared.substr(at).starts_with(kOurs)) out += prefix_;
      out += shared[at];
    }
  }
  return out;
}

}  // namespace semel::postgres
