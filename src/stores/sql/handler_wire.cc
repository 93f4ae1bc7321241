#include "stores/sql/handler_wire.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace semel::sql {
namespace {

// Names are compared without quotes, spaces and case.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(" \t\n\"`").find(c) == std::string_view::npos) out += ascii::lower(c);
  }
  return out;
}

}  // namespace

const std::string& text_of(Mark mark) noexcept {
  static const std::array<std::string, 9> texts = {"SAVEPOINT semel_flush",
                                                   "ROLLBACK TO SAVEPOINT semel_flush",
                                                   "SAVEPOINT semel_message",
                                                   "ROLLBACK TO SAVEPOINT semel_message",
                                                   "RELEASE SAVEPOINT semel_message",
                                                   "SAVEPOINT semel_question",
                                                   "ROLLBACK TO SAVEPOINT semel_question",
                                                   "RELEASE SAVEPOINT semel_question",
                                                   "COMMIT"};
  return texts[static_cast<std::size_t>(mark)];
}

const UniqueRule* rule_for(const std::vector<UniqueRule>* rules, std::string_view constraint,
                           std::string_view table, std::string_view columns) {
  if (rules == nullptr) return nullptr;
  const std::string by_name = plain(constraint);
  const std::string by_columns = columns.empty() ? "" : plain(table) + '(' + plain(columns) + ')';
  const auto fits = [&](const UniqueRule& rule) {
    const std::string named = plain(rule.constraint);
    return named == by_name || (!by_columns.empty() && named == by_columns);
  };
  const auto found = std::ranges::find_if(*rules, fits);
  return found == rules->end() ? nullptr : &*found;
}

}  // namespace semel::sql
