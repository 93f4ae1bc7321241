// Finisher: what a Finish writes, inside an open write transaction.
#pragma once

#include <optional>

#include <semel/finish.h>

#include "stores/sqlite/tables.h"

namespace semel::sqlite {

class Finisher {
 public:
  explicit Finisher(Tables& tables) noexcept : tables_(tables) {}

  // Compare-and-set on the lease's nonce; without a lease no record is touched.
  Applied apply(const Finish& finish, StoreTime now);
  // What leaves with one that was applied.
  void send(const Finish& finish, StoreTime now);

  // For a record that stands in `generation` already: what else a completion writes. `live` is what
  // is left of an earlier try.
  void completed_in(Generation& generation, const KeyId& id, const LiveRow* live,
                    std::optional<std::int64_t> inbox, const Finish& finish, StoreTime now);
  // For a record that ends in another way, and whose `live` row says so: its payload and itself.
  // `reserved`: the inbox row that its claim has put aside for it.
  void keep(const KeyId& id, LiveRow& live, const Finish& finish, StoreTime now,
            std::optional<std::int64_t> reserved = std::nullopt);

 private:
  Applied complete(const KeyId& id, LiveRow& live, const Finish& finish, StoreTime now);
  void without_lease(const Finish& finish, StoreTime now);
  void hold(LiveRow& live, const Finish& finish, StoreTime due, StoreTime now);
  void bury(const LiveRow* live, const Finish& finish, StoreTime first_seen, StoreTime now);
  struct InboxRow {
    std::optional<std::int64_t> number;
    bool there = false;  // else the number is kept for it
  };
  // What was received before is in the inbox already, as the row it came from says.
  InboxRow received_row(const Finish& finish, InboxRow otherwise);
  // The row that the inbox has for it now; none where it keeps none.
  std::optional<std::int64_t> write_inbox(InboxRow row, const Finish& finish, bool processed,
                                          StoreTime now);

  Tables& tables_;
};

}  // namespace semel::sqlite
