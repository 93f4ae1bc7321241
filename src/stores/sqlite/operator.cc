#include "stores/sqlite/operator.h"

#include "core/record_machine.h"

namespace semel::sqlite {

bool reopen_record(Tables& tables, const KeyId& id, StoreTime now) {
  auto live = tables.live.find(id);
  if (!live || !core::decide_unlock(live->record, now)) return false;
  if (live->held) {
    HeldRows::Move move;
    move.due = now;
    move.first_seen = live->record.first_seen;
    live->held = tables.held.move(RowTag{*live->held}, move);
  }
  if (!live->held) {
    if (const auto letter = tables.dead_letters.find(id, live->key, live->record.fingerprint)) {
      tables.dead_letters.note_replay(letter->letter.id);
      HeldContent content = content_of(*letter, now);
      content.first_seen = live->record.first_seen;
      live->held = tables.held.add(content, now);
    }
  }
  tables.live.save(id, *live, now);
  return true;
}

std::optional<Lease> seize_record(Tables& tables, const KeyId& id, const Nonce& nonce,
                                  std::chrono::milliseconds lease, StoreTime now) {
  auto live = tables.live.find(id);
  if (!live || !core::decide_seize(live->record, nonce, lease, now)) return std::nullopt;
  live->holder.reset();
  tables.live.save(id, *live, now);
  return Lease{id, live->record.token, nonce};
}

}  // namespace semel::sqlite
