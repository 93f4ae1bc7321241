// InboxRows: the table of received messages and their outcomes.
#pragma once

#include <cstdint>
#include <optional>

#include <semel/spi/finish.h>

#include "stores/sql/numbers.h"
#include "stores/sql/statements.h"

namespace semel::sql {

struct InboxTexts {
  explicit InboxTexts(const Dialect& dialect);
  SqlText put, end, result, remove;
};

// For one transaction.
class InboxRows {
 public:
  InboxRows(Statements& statements, Numbers& numbers, const InboxTexts& texts)
      : statements_(statements), numbers_(numbers), texts_(texts) {}

  // A new row's number, for a record that is written before its row.
  std::int64_t next() { return numbers_.next_number(Counter::kInbox); }
  // Writes the message as it came; `processed`: it is done. In an existing row only the outcome
  // changes.
  void put(std::int64_t row, const Message& message, const Finish& finish, bool processed,
           StoreTime now);
  // Writes the outcome; false where there is no such row.
  bool end(std::int64_t row, const Finish& finish, bool processed, StoreTime now);
  // Empty where it has none.
  Bytes result_of(std::int64_t row);
  void remove(std::int64_t row);

 private:
  Statements& statements_;
  Numbers& numbers_;
  const InboxTexts& texts_;
};

}  // namespace semel::sql
