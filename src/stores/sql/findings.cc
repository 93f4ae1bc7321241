#include "stores/sql/findings.h"

#include <fmt/format.h>

#include <utility>

#include "base/digest.h"
#include "base/utf8.h"

namespace semel::sql {

void Findings::add(bool wrong, std::string what, std::string where, std::string detail) {
  all_.push_back({wrong, std::move(what), std::move(where), std::move(detail)});
}

void Findings::append(std::vector<StoreFinding> others) {
  for (StoreFinding& other : others) all_.push_back(std::move(other));
}

std::string Findings::place(std::string_view table, BytesView shown, std::int64_t number) {
  if (shown.empty()) return fmt::format("{} {}", table, number);
  const bool text = is_utf8(shown) && shown.find('\0') == BytesView::npos;
  return fmt::format("{} {}", table, text ? std::string(shown) : digest::hex(shown));
}

void Findings::add_count(const std::string& what, std::string_view table, std::size_t rows,
                         const std::string& detail) {
  add(true, what, std::string(table),
      fmt::format("{}: {}{} rows in all", detail, rows, rows < kAsked ? "" : " or more"));
}

}  // namespace semel::sql
