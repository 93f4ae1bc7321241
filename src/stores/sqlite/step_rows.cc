#include "stores/sqlite/step_rows.h"

#include <utility>

namespace semel::sqlite {

StepRows::StepRows(Connection& connection)
    : read_(connection,
            "SELECT state, name, business, round, input, result, attempts, tries, reason, error "
            "FROM semel_step WHERE record = ?1 ORDER BY place"),
      keep_(connection,
            "INSERT OR REPLACE INTO semel_step (record, name, business, state, place, round, "
            "attempts, tries, at, input, result) VALUES (?1, ?2, ?3, ?4, "
            "(SELECT coalesce(max(place), 0) + 1 FROM semel_step WHERE record = ?1), ?5, 0, 0, ?6, "
            "?7, ?8)"),
      give_up_(connection,
               "INSERT OR REPLACE INTO semel_step (record, name, business, state, place, round, "
               "attempts, tries, at, reason, error) "
               "VALUES (?1, '', x'', 'giving_up', 0, 0, ?2, ?3, ?4, ?5, ?6)"),
      given_up_(connection,
                "DELETE FROM semel_step WHERE record = ?1 AND name = '' AND state = 'giving_up'"),
      forget_(connection, "DELETE FROM semel_step WHERE record = ?1") {}

StepJournal StepRows::read(const KeyId& record) {
  StepJournal journal;
  read_.bind(1, record);
  const Reading reading(read_);
  while (read_.next()) {
    const BytesView state = read_.bytes(0);
    if (state == "giving_up") {
      journal.giving_up = GivingUp{read_.text(8), read_.text(9), read_.small(6), read_.small(7)};
      continue;
    }
    StepEntry entry;
    entry.state = state == "done" ? StepEntry::State::kDone : StepEntry::State::kUndone;
    entry.name = read_.text(1);
    entry.id = read_.text(2);
    entry.round = read_.small(3);
    entry.input = read_.fingerprint(4);
    entry.result = read_.text(5);
    journal.entries.push_back(std::move(entry));
  }
  return journal;
}

void StepRows::keep(const KeyId& record, const StepEntry& entry, StoreTime now) {
  keep_.bind(1, record)
      .bind_text(2, entry.name)
      .bind_blob(3, entry.id)
      .bind_text(4, entry.state == StepEntry::State::kDone ? "done" : "undone")
      .bind(5, entry.round)
      .bind(6, now)
      .bind(7, entry.input)
      .bind_bytes(8, entry.result)
      .run();
}

void StepRows::give_up(const KeyId& record, const GivingUp& note, StoreTime now) {
  give_up_.bind(1, record)
      .bind(2, note.attempts)
      .bind(3, note.undo_tries)
      .bind(4, now)
      .bind_bytes(5, note.reason)
      .bind_bytes(6, note.error)
      .run();
}

void StepRows::given_up(const KeyId& record) { given_up_.bind(1, record).run(); }

void StepRows::forget(const KeyId& record) { forget_.bind(1, record).run(); }

}  // namespace semel::sqlite
