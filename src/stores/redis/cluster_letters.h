// An operator's changes of dead letters and closed records on a Cluster, where a record, the rows
// that wait for it and its letter are on different nodes.
//
// Each change has several steps, in an order in which a stop between two of them loses nothing and
// repeating the same command continues: a row is written, hidden, before its record mentions it,
// and becomes visible afterwards; something that is removed goes before the record that mentions
// it.
#pragma once

#include <optional>

#include <semel/admin/records.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// A record as an operator saw it: the letter of its state and the bytes of its token. Empty: any.
struct SeenRecord {
  Bytes state;
  Bytes token;
};

// As unlock_record. `seen`: only that record; null: any.
bool unlock_on_cluster(StoreContext& context, const KeyId& id,
                       const std::optional<Bytes>& note = {}, const SeenRecord* seen = nullptr);

ReplayReport::Result replay_on_cluster(StoreContext& context, std::int64_t letter);

Edited edit_on_cluster(StoreContext& context, const LetterEdit& edit);

// Whether a replay is handling the message of the letter, judging by its record.
bool in_hand_on_cluster(StoreContext& context, std::int64_t letter);

void remove_rows_of(StoreContext& context, const KeyId& id);

}  // namespace semel::redis
