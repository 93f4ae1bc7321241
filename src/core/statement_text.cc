#include "core/statement_text.h"

#include "base/printable.h"

namespace semel::core {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kEllipsis = "…";

}  // namespace

std::string statement_text(std::string_view sql) {
  std::string out;
  for (;;) {
    const std::size_t word = sql.find_first_not_of(kSpace);
    if (word == std::string_view::npos) return out;
    if (word > 0 && !out.empty()) out += ' ';
    sql.remove_prefix(word);
    const std::size_t before = out.size();
    take_printable(out, sql);
    if (out.size() <= kMostStatementText) continue;
    out.resize(before);
    out += kEllipsis;
    return out;
  }
}

std::string_view written_text(const Statement& statement) noexcept {
  return statement.written.empty() ? statement.sql : statement.written;
}

void name_statement(Error& error, std::string_view sql) {
  error.message += ", in: ";
  error.message += statement_text(sql);
}

}  // namespace semel::core
