// What an operator does to dead letters and closed records on a Cluster, where a record, what waits
// for it and its letter are on nodes of their own.
//
// Each is done in steps, in an order in which a stop between two of them loses nothing and the same
// command, said again, goes on: a row is written, hidden, before its record says so, and shows
// after; what goes does so before the record that speaks of it.
#pragma once

#include <optional>

#include <semel/admin/records.h>

#include "stores/redis/core.h"

namespace semel::redis {

// A record as somebody saw it: the letter of its state and the bytes of its token. Nothing: any.
struct SeenRecord {
  Bytes state;
  Bytes token;
};

// As unlock_record. `seen`: no other record than that; null: any.
bool unlock_on_cluster(Core& core, const KeyId& id, const std::optional<Bytes>& note = {},
                       const SeenRecord* seen = nullptr);

ReplayReport::Result replay_on_cluster(Core& core, std::int64_t letter);

Edited edit_on_cluster(Core& core, const LetterEdit& edit);

// Whether a replay has the message of the letter in hand, by its record.
bool in_hand_on_cluster(Core& core, std::int64_t letter);

void remove_rows_of(Core& core, const KeyId& id);

}  // namespace semel::redis
