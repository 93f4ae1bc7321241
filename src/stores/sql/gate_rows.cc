#include "stores/sql/gate_rows.h"

namespace semel::sql {

GateTexts::GateTexts(const Dialect& dialect)
    : find(dialect, "SELECT why, since, until_at FROM semel_gate WHERE consumer = ?1"),
      shut(dialect,
           "INSERT INTO semel_gate (consumer, why, since, until_at) VALUES (?1, ?2, ?3, ?4) "
           "ON CONFLICT (consumer) DO NOTHING"),
      change(dialect,
             "UPDATE semel_gate SET why = ?2, since = ?3, until_at = ?4 "
             "WHERE consumer = ?1 AND until_at IS NOT NULL"),
      open(dialect, "DELETE FROM semel_gate WHERE consumer = ?1 AND until_at IS NOT NULL"),
      resume(dialect, "DELETE FROM semel_gate WHERE consumer = ?1") {}

std::optional<ShutGate> GateRows::find(ConsumerNumber consumer) {
  Answer answer = statements_.ask(texts_.find, {consumer});
  if (!answer.next()) return std::nullopt;
  return ShutGate{answer.bytes(0), answer.time(1), answer.maybe_time(2)};
}

void GateRows::shut(ConsumerNumber consumer, std::string_view why, StoreTime now,
                    std::optional<StoreTime> until) {
  const Answer shut = statements_.ask(texts_.shut, {consumer, why, now, until});
  if (shut.changed() == 0) statements_.queue(texts_.change, {consumer, why, now, until});
}

void GateRows::open(ConsumerNumber consumer) { statements_.ask(texts_.open, {consumer}); }

bool GateRows::resume(ConsumerNumber consumer) {
  return statements_.ask(texts_.resume, {consumer}).changed() > 0;
}

}  // namespace semel::sql
