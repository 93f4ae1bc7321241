#include "stores/sql/step_rows.h"

#include <optional>
#include <utility>

#include "stores/sql/record_rows.h"

namespace semel::sql {
namespace {

constexpr BytesView kDone = "done";
constexpr BytesView kUndone = "undone";
constexpr BytesView kGivingUp = "giving_up";
// The note has no step name.
constexpr BytesView kNote = "";

}  // namespace

StepTexts::StepTexts(const Dialect& dialect)
    : read(dialect,
           "SELECT s.state, s.name, s.business, s.round, s.input, s.result, s.attempts, s.tries, "
           "s.reason, s.error FROM semel_step AS s WHERE s.record = ?1 AND EXISTS (SELECT 1 FROM "
           "semel_record AS r WHERE r.id = ?1 AND r.state <> 'completed') ORDER BY s.place"),
      last(dialect, "SELECT coalesce(max(place), 0) FROM semel_step WHERE record = ?1"),
      erase(dialect, "DELETE FROM semel_step WHERE record = ?1 AND name = ?2 AND business = ?3"),
      add(dialect,
          "INSERT INTO semel_step (record, name, business, state, place, round, attempts, tries, "
          "kept_at, input, result, reason, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
          "?11, ?12, ?13)"),
      given_up(dialect, "DELETE FROM semel_step WHERE record = ?1 AND name = ?2"),
      forget(dialect, "DELETE FROM semel_step WHERE record = ?1") {}

StepJournal StepRows::read(const KeyId& record) {
  StepJournal journal;
  Answer answer = statements_.ask(texts_.read, {record});
  while (answer.next()) {
    const BytesView state = answer.bytes(0);
    if (state == kGivingUp) {
      journal.giving_up = GivingUp{answer.bytes(8), answer.bytes(9), answer.small(6),
                                   answer.small(7), answer.small(3)};
      continue;
    }
    StepEntry entry;
    entry.state = state == kDone ? StepEntry::State::kDone : StepEntry::State::kUndone;
    entry.name = answer.bytes(1);
    entry.id = answer.bytes(2);
    entry.round = answer.small(3);
    entry.input = answer.fingerprint(4);
    entry.result = answer.bytes(5);
    journal.entries.push_back(std::move(entry));
  }
  return journal;
}

void StepRows::keep(const KeyId& record, const StepEntry& entry, StoreTime now) {
  Answer last = statements_.ask(texts_.last, {record});
  const std::int64_t place = last.next() ? last.integer(0) + 1 : 1;
  const BytesView state = entry.state == StepEntry::State::kDone ? kDone : kUndone;
  statements_.queue(texts_.erase, {record, BytesView(entry.name), Binary{entry.id}});
  statements_.queue(texts_.add, {record, BytesView(entry.name), Binary{entry.id}, state, place,
                                 entry.round, 0, 0, now, entry.input, BytesView(entry.result),
                                 std::optional<BytesView>(), std::optional<BytesView>()});
}

void StepRows::give_up(const KeyId& record, const GivingUp& note, StoreTime now) {
  given_up(record);
  statements_.queue(texts_.add,
                    {record, kNote, Binary{kNote}, kGivingUp, 0, note.uncounted_undo_tries,
                     note.attempts, note.undo_tries, now, std::optional<BytesView>(),
                     std::optional<BytesView>(), BytesView(note.reason), BytesView(note.error)});
}

void StepRows::given_up(const KeyId& record) {
  statements_.queue(texts_.given_up, {record, kNote});
}

void StepRows::forget(const KeyId& record) { statements_.queue(texts_.forget, {record}); }

}  // namespace semel::sql
