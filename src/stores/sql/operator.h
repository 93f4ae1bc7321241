// An operator's changes of a record, inside an open transaction that may write. Each database keeps
// records and held rows in tables of its own: `tables` has open_records(), held and dead_letters.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <semel/spi/record_machine.h>

#include "stores/sql/dead_letter_rows.h"
#include "stores/sql/held_content.h"
#include "stores/sql/lock.h"

namespace semel::sql {

// Parked or dead → retrying, due now, and its kept payload is held again: at the end of its line,
// when it is next met. False in any other state.
template <class Tables>
bool reopen_record(Tables& tables, const KeyId& id, StoreTime now) {
  auto& records = tables.open_records();
  auto row = records.find(id, Lock::kForUpdate);
  if (!row || !spi::decide_unlock(row->record, now)) return false;
  if (row->held) {
    HeldMove move;
    move.due = now;
    move.first_seen = row->record.first_seen;
    // An older version may have parked it in its line.
    move.leaves_line = true;
    row->held = tables.held.move(RowTag{*row->held}, move);
  }
  if (!row->held) {
    const auto letter = tables.dead_letters.find(id, row->key, row->record.fingerprint);
    if (letter) {
      tables.dead_letters.note_replay(letter->letter.id);
      HeldContent content = content_of(*letter, now);
      content.first_seen = row->record.first_seen;
      row->held = tables.held.add(content, now);
    }
  }
  records.save(id, *row, now);
  return true;
}

// Throws R241 where a live lease holds the record.
inline void check_forget(const spi::Record& record, StoreTime now) {
  if (record.state != RecordState::kConsuming || record.lease_until <= now) return;
  fail({ErrorKind::kBlocked, "R241",
        "a running consumer holds this record: forgetting it now would let it happen twice",
        "stop the consumer, or wait for its lease to end"});
}

// An existing record, without its result.
template <class Row>
RecordView view_of_row(const KeyId& id, Row row) {
  RecordView view = spi::view_of(id, std::move(row.record));
  view.key = std::move(row.key);
  return view;
}

// Parked, or consuming with its lease over → consuming, under that nonce. nullopt in any other
// state.
template <class Tables>
std::optional<Lease> seize_record(Tables& tables, const KeyId& id, const Nonce& nonce,
                                  std::chrono::milliseconds lease, StoreTime now) {
  auto& records = tables.open_records();
  auto row = records.find(id, Lock::kForUpdate);
  if (!row || !spi::decide_seize(row->record, nonce, lease, now)) return std::nullopt;
  row->holder.reset();
  records.save(id, *row, now);
  return Lease{id, row->record.token, nonce};
}

}  // namespace semel::sql
