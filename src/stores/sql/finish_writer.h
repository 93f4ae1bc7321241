// FinishWriter: the writes for one Finish, inside an open transaction.
#pragma once

#include <optional>

#include <semel/spi/finish.h>

#include "stores/sql/finish_acts.h"
#include "stores/sql/tables.h"

namespace semel::sql {

class FinishWriter {
 public:
  explicit FinishWriter(Tables& tables) noexcept : tables_(tables), acts_(tables) {}

  // The record, locked.
  [[nodiscard]] std::optional<RecordRow> find(const KeyId& id);
  // Compare-and-set on the lease's nonce; without a lease no record is touched.
  [[nodiscard]] Applied apply(const Finish& finish, StoreTime now);
  // The same for a record that this transaction has locked; `row` is its row, and is consumed.
  // `reserved`: the inbox row that its claim has reserved.
  [[nodiscard]] Applied apply(RecordRow& row, std::optional<std::int64_t> reserved,
                              const Finish& finish, StoreTime now);
  FinishActs<Tables>& acts() noexcept { return acts_; }

 private:
  Tables& tables_;
  FinishActs<Tables> acts_;
};

}  // namespace semel::sql
