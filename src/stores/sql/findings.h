// Findings: what a look at a whole store has found.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/records.h>

#include "base/digest.h"
#include "base/utf8.h"

namespace semel::sql {

class Findings {
 public:
  // Rows in one answer, at most: a text asks for no more.
  static constexpr std::size_t kAsked = 1000;

  void add(bool wrong, std::string what, std::string where, std::string detail) {
    all_.push_back({wrong, std::move(what), std::move(where), std::move(detail)});
  }

  // Each row is a finding: its first column says where. Past a few they are counted.
  template <class Rows>
  void add_each(const std::string& what, std::string_view table, Rows&& rows,
                const std::string& detail) {
    std::size_t seen = 0;
    while (rows.next()) {
      if (seen++ < kTold) add(true, what, place(table, rows), detail);
    }
    if (seen <= kTold) return;
    add(true, what, std::string(table),
        fmt::format("{}: {}{} rows in all", detail, seen, seen < kAsked ? "" : " or more"));
  }

  void append(std::vector<StoreFinding> others) {
    for (StoreFinding& other : others) all_.push_back(std::move(other));
  }
  std::vector<StoreFinding> take() { return std::move(all_); }

 private:
  // Rows told of each kind of finding; the rest is counted.
  static constexpr std::size_t kTold = 10;

  // "semel_record k-1", or the row's id where it has no key, or its number.
  template <class Rows>
  static std::string place(std::string_view table, const Rows& row) {
    const BytesView shown = row.bytes(0);
    if (shown.empty()) return fmt::format("{} {}", table, row.integer(0));
    const bool text = is_utf8(shown) && shown.find('\0') == BytesView::npos;
    return fmt::format("{} {}", table, text ? std::string(shown) : digest::hex(shown));
  }

  std::vector<StoreFinding> all_;
};

}  // namespace semel::sql
