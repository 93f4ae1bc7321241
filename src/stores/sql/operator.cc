#include "stores/sql/operator.h"

#include "core/record_machine.h"

namespace semel::sql {

bool reopen_record(Tables& tables, const KeyId& id, StoreTime now) {
  auto row = tables.records.find(id, Lock::kForUpdate);
  if (!row || !core::decide_unlock(row->record, now)) return false;
  if (row->held) {
    HeldRows::Move move;
    move.due = now;
    move.first_seen = row->record.first_seen;
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
  tables.records.save(id, *row, now);
  return true;
}

std::optional<Lease> seize_record(Tables& tables, const KeyId& id, const Nonce& nonce,
                                  std::chrono::milliseconds lease, StoreTime now) {
  auto row = tables.records.find(id, Lock::kForUpdate);
  if (!row || !core::decide_seize(row->record, nonce, lease, now)) return std::nullopt;
  row->holder.reset();
  tables.records.save(id, *row, now);
  return Lease{id, row->record.token, nonce};
}

}  // namespace semel::sql
