#include "stores/sqlite/gate_rows.h"

namespace semel::sqlite {

GateRows::GateRows(Connection& connection)
    : find_(connection,
            "SELECT why, since, until FROM semel_gate "
            "WHERE consumer = ?1 AND (until IS NULL OR until > ?2)"),
      shut_(connection,
            "INSERT INTO semel_gate (consumer, why, since, until) VALUES (?1, ?2, ?3, ?4) "
            "ON CONFLICT (consumer) DO UPDATE SET why = excluded.why, since = excluded.since, "
            "until = excluded.until WHERE semel_gate.until IS NOT NULL"),
      open_(connection, "DELETE FROM semel_gate WHERE consumer = ?1 AND until IS NOT NULL"),
      resume_(connection, "DELETE FROM semel_gate WHERE consumer = ?1") {}

std::optional<ShutGate> GateRows::find(ConsumerNumber consumer, StoreTime now) {
  find_.bind(1, consumer).bind(2, now);
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  ShutGate gate;
  gate.why = find_.text(0);
  gate.since = find_.time(1);
  if (!find_.null(2)) gate.until = find_.time(2);
  return gate;
}

void GateRows::shut(ConsumerNumber consumer, std::string_view why, StoreTime now,
                    std::optional<StoreTime> until) {
  shut_.bind(1, consumer).bind_text(2, why).bind(3, now);
  if (until) {
    shut_.bind(4, *until);
  } else {
    shut_.bind_null(4);
  }
  shut_.run();
}

void GateRows::open(ConsumerNumber consumer) { open_.bind(1, consumer).run(); }

bool GateRows::resume(ConsumerNumber consumer) { return resume_.bind(1, consumer).change() > 0; }

}  // namespace semel::sqlite
