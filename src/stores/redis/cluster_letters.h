// An operator's changes of dead letters and closed records on a Cluster, where a record, the rows
// that wait for it and its letter are on different nodes.
//
// Each change has several steps, in an order in which a stop between two of them loses nothing and
// repeating the same command continues: a row is written, hidden, before its record mentions it,
// and becomes visible afterwards. A row that is removed goes after its record, once it is known
// that this goes: until then somebody may still need it. It is found by its number, because the
// record's next row is none of the caller's; and without its record by the record's id.
#pragma once

#include <optional>

#include <semel/admin/records.h>

#include "stores/redis/held_rows.h"
#include "stores/redis/store_context.h"

namespace semel::redis {

// A record as an operator saw it: the letter of its state and the bytes of its token. Empty: any.
struct SeenRecord {
  Bytes state;
  Bytes token;
};

// The record as it is now; empty where there is none. Throws where it cannot be read.
SeenRecord seen_now(StoreContext& context, const KeyId& id);

// As unlock_record. `seen`: only that record; null: any.
bool unlock_on_cluster(StoreContext& context, const KeyId& id,
                       const std::optional<Bytes>& note = {}, const SeenRecord* seen = nullptr);

ReplayReport::Result replay_on_cluster(StoreContext& context, std::int64_t letter);

Edited edit_on_cluster(StoreContext& context, const LetterEdit& edit);

// Whether a replay is handling the message of the letter, judging by its record.
bool in_hand_on_cluster(StoreContext& context, std::int64_t letter);

// The row that is held for a record.
struct LinkedRow {
  RowPlace place;
  Bytes seen;  // for drop: who has taken it, and when it is due
  bool parked = false;
  // As operators see it where its record is gone: parked or retrying.
  RecordView view;
};
std::optional<LinkedRow> linked_row(StoreContext& context, const KeyId& id);
// Removes exactly that row. False where somebody has it, or has removed it, meanwhile.
bool drop_row(StoreContext& context, const LinkedRow& row);

}  // namespace semel::redis
