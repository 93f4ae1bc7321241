// RecordRows: the table of records, in every state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <semel/spi/record_machine.h>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/lock.h"
#include "stores/sql/session.h"

namespace semel::sql {

struct RecordRow {
  spi::Record record;
  Bytes key;
  std::optional<std::int64_t> holder;  // semel_instance
  std::optional<std::int64_t> held;    // semel_held row with its payload
  std::optional<std::int64_t> inbox;   // semel_inbox row
  std::int64_t generation = 0;         // the generation it is in
};

// The columns of a RecordRow and of its id, for a SELECT, each after `prefix`; and their number.
std::string record_columns(std::string_view prefix = {});
inline constexpr std::size_t kRecordColumns = 19;
// The record of an answer's row that begins with them.
RecordRow record_at(const Answer& answer);

struct RecordTexts {
  explicit RecordTexts(const Dialect& dialect);
  SqlText find, find_locked, completed, save, set_inbox, erase, holders, end, dead, list,
      list_state, counts;
  std::optional<SqlText> list_open, unlist_open;  // where the server needs a list
};

class RecordRows {
 public:
  RecordRows(Session& session, const RecordTexts& texts) : session_(session), texts_(texts) {}

  std::optional<RecordRow> find(const KeyId& id, Lock lock);
  // The ids among them whose records are completed now.
  std::unordered_set<KeyId> completed(std::span<const KeyId> ids);
  // Writes an existing row, except its generation. A completed one keeps only the columns it needs.
  void save(const KeyId& id, const RecordRow& row, StoreTime now);
  bool erase(const KeyId& id);
  // The row must exist.
  void set_inbox(const KeyId& id, std::optional<std::int64_t> inbox);
  // Ends the leases of a process that died; returns how many.
  std::size_t end_leases(std::int64_t holder, StoreTime now);
  // Dead records of one consumer that changed last before `before`: at most `limit`, by their ids,
  // from above `behind` on.
  std::vector<DeadRecord> dead_before(ConsumerNumber consumer, StoreTime before,
                                      const KeyId& behind, std::size_t limit);

  // Records that are not completed, oldest first; only of `consumer` and in `state` where given.
  std::vector<std::pair<KeyId, RecordRow>> list(std::optional<ConsumerNumber> consumer,
                                                std::optional<RecordState> state,
                                                std::size_t limit);
  // Counts of unfinished records. A consumer may have several of one state.
  std::vector<RecordCount> counts(StoreTime now);

 private:
  // Updates the list of records that are not completed, if there is one.
  void queue_listing(const KeyId& id, bool open);

  Session& session_;
  const RecordTexts& texts_;
};

// `count` as a value for LIMIT.
std::int64_t limit_of(std::size_t count) noexcept;

}  // namespace semel::sql
