// LiveRows: the table of records that are not completed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/spi/record_machine.h>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/lock.h"
#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

struct LiveRow {
  spi::Record record;
  Bytes key;
  std::optional<std::int64_t> holder;  // semel_instance
  std::optional<std::int64_t> held;    // semel_held row with its payload
  std::optional<std::int64_t> inbox;   // semel_inbox row
  bool steps = false;                  // has rows in semel_step
};

class LiveRows {
 public:
  explicit LiveRows(Connection& connection);

  // False where the table is empty: then no query is needed.
  bool any();
  std::optional<LiveRow> find(const KeyId& id);
  // The writer has the whole file locked.
  std::optional<LiveRow> find(const KeyId& id, sql::Lock) { return find(id); }
  void save(const KeyId& id, const LiveRow& row, StoreTime now);
  // Adds a record whose lease was just given; false where the id exists already.
  bool add_claimed(const KeyId& id, const spi::Record& record, BytesView key, std::int64_t holder,
                   StoreTime now);
  // The same for kTogether records in one statement, all claimed now for the same time; false where
  // some id exists already, and then some may have been added.
  struct Claimed {
    KeyId id;
    spi::Record record;
    BytesView key;
  };
  static constexpr std::size_t kTogether = 10;
  bool add_claimed(std::span<const Claimed, kTogether> claimed, std::int64_t holder, StoreTime now);
  bool erase(const KeyId& id);
  // True where `nonce` holds the record; then its lease ends at `until`.
  bool renew(const KeyId& id, const Nonce& nonce, StoreTime until);
  // True where `nonce` holds the record.
  bool held_by(const KeyId& id, const Nonce& nonce);
  // Marks the record as one with steps.
  void note_steps(const KeyId& id);
  // Ends the leases of a process that died; returns how many.
  std::int64_t end_leases(std::int64_t holder, StoreTime now);
  // Dead records of one consumer that changed last before `before`: at most `limit`, by their ids,
  // from above `behind` on.
  std::vector<sql::DeadRecord> dead_before(ConsumerNumber consumer, StoreTime before,
                                           const KeyId& behind, std::size_t limit);

  // Oldest first; only of `consumer` and in `state` where given.
  std::vector<std::pair<KeyId, LiveRow>> list(std::optional<ConsumerNumber> consumer,
                                              std::optional<RecordState> state, std::size_t limit);
  std::vector<sql::RecordCount> counts(StoreTime now);

 private:
  Prepared any_;
  Prepared find_;
  Prepared save_;
  Prepared add_claimed_;
  const std::string add_together_sql_;
  Prepared add_together_;
  Prepared erase_;
  Prepared renew_;
  Prepared held_by_;
  Prepared note_steps_;
  Prepared end_;
  Prepared dead_;
  Prepared list_;
  Prepared counts_;
};

}  // namespace semel::sqlite
