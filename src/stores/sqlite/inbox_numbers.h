// InboxNumbers: the numbers of new rows in the inbox.
#pragma once

#include <cstdint>
#include <optional>

#include "stores/sql/numbers.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

// A record is written before its inbox row, so it asks for the number first.
class InboxNumbers final : public sql::Numbers {
 public:
  explicit InboxNumbers(Connection& connection)
      : next_row_(connection, "SELECT coalesce(max(row), 0) + 1 FROM semel_inbox") {}

  // Call it once in each transaction.
  void begin() noexcept { next_.reset(); }
  std::int64_t next_number(sql::Counter /*the inbox alone*/) override {
    if (!next_) {
      const Reading reading(next_row_);
      next_ = next_row_.next() ? next_row_.integer(0) : 1;
    }
    return (*next_)++;
  }

 private:
  Prepared next_row_;
  std::optional<std::int64_t> next_;
};

}  // namespace semel::sqlite
