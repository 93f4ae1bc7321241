// DetailRows: results and the inbox, kept beside the records.
#pragma once

#include <optional>

#include <semel/finish.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class DetailRows {
 public:
  explicit DetailRows(Connection& connection);

  std::int64_t add_result(BytesView result);
  // Of a completed record; empty where it has none.
  Bytes result_of(std::optional<std::int64_t> result, std::optional<std::int64_t> inbox);
  void remove(std::optional<std::int64_t> result, std::optional<std::int64_t> inbox);

  // Once in each transaction.
  void begin() noexcept { next_.reset(); }
  // A number for an inbox row, given once in a transaction: for a record that is written before it.
  std::int64_t next_inbox();
  // The message as it came; `processed`: it is done.
  void put_inbox(std::int64_t row, const Message& message, const Finish& finish, bool processed,
                 StoreTime now);
  // What became of it since; false where there is no such row.
  bool end_inbox(std::int64_t row, const Finish& finish, bool processed, StoreTime now);

 private:
  Prepared add_result_;
  Prepared find_result_;
  Prepared find_inbox_;
  Prepared remove_result_;
  Prepared remove_inbox_;
  Prepared next_inbox_;
  Prepared put_inbox_;
  Prepared end_inbox_;
  std::optional<std::int64_t> next_;
};

}  // namespace semel::sqlite
