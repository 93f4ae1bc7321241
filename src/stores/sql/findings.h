// Findings: the results of a check of a whole store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/admin/records.h>

namespace semel::sql {

class Findings {
 public:
  // The most rows in one answer: a statement asks for no more.
  static constexpr std::size_t kAsked = 1000;

  void add(bool wrong, std::string what, std::string where, std::string detail);
  void append(std::vector<StoreFinding> others);

  // Each row is a finding: its first column says where. Beyond a few they are only counted.
  template <class Rows>
  void add_each(const std::string& what, std::string_view table, Rows&& rows,
                const std::string& detail) {
    std::size_t seen = 0;
    for (; rows.next(); ++seen) {
      if (seen < kTold) add(true, what, place(table, rows.bytes(0), rows.integer(0)), detail);
    }
    if (seen > kTold) add_count(what, table, seen, detail);
  }

  std::vector<StoreFinding> take() { return std::move(all_); }

 private:
  // Rows reported of each kind of finding; the rest is counted.
  static constexpr std::size_t kTold = 10;

  // "semel_record k-1", or the row's id where it has no key, or its number.
  static std::string place(std::string_view table, BytesView shown, std::int64_t number);
  void add_count(const std::string& what, std::string_view table, std::size_t rows,
                 const std::string& detail);

  std::vector<StoreFinding> all_;
};

}  // namespace semel::sql
