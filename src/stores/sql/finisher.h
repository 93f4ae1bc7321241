// Finisher: what a Finish writes, one at a time, inside an open transaction.
#pragma once

#include <optional>

#include <semel/finish.h>

#include "stores/sql/tables.h"

namespace semel::sql {

class Finisher {
 public:
  explicit Finisher(Tables& tables) noexcept : tables_(tables) {}

  // Compare-and-set on the lease's nonce; without a lease no record is touched.
  Applied apply(const Finish& finish, StoreTime now);

  // For a record that this transaction holds: it is completed. `inbox`: the row its claim has put
  // aside.
  void complete(const KeyId& id, RecordRow& row, std::optional<std::int64_t> inbox,
                const Finish& finish, StoreTime now);
  // For one that ends in another way, and whose `row` says so: its payload and itself.
  void keep(const KeyId& id, RecordRow& row, const Finish& finish, StoreTime now,
            std::optional<std::int64_t> reserved = std::nullopt);
  // Shows the row again that it came from: it was not tried.
  void give_back(const Finish& finish, StoreTime now);

 private:
  void without_lease(const Finish& finish, StoreTime now);
  void hold(RecordRow& row, const Finish& finish, StoreTime due, StoreTime now);
  void bury(const RecordRow* row, const Finish& finish, StoreTime first_seen, StoreTime now);
  struct InboxRow {
    std::optional<std::int64_t> number;
    bool there = false;  // else the number is only put aside
  };
  // The row that a message was received into.
  InboxRow received_row(const Finish& finish, InboxRow otherwise);
  // The row that the inbox has for it now; none where it keeps none.
  std::optional<std::int64_t> write_inbox(InboxRow row, const Finish& finish, bool processed,
                                          StoreTime now);

  Tables& tables_;
};

}  // namespace semel::sql
