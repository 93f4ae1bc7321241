#include "stores/sql/audit_rows.h"

#include <limits>

namespace semel::sql {

AuditTexts::AuditTexts(const Dialect& dialect)
    : add(dialect,
          "INSERT INTO semel_audit (request, kept_at, who, action, target, reason) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (request) DO NOTHING"),
      find(dialect, "SELECT id FROM semel_audit WHERE request = ?1"),
      end(dialect, "UPDATE semel_audit SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL"),
      list(dialect,
           "SELECT id, kept_at, who, action, target, reason, outcome FROM semel_audit "
           "WHERE id < ?1 ORDER BY id DESC LIMIT ?2") {}

std::int64_t AuditRows::add(const Nonce& request, const AuditEntry& entry, StoreTime now) {
  statements_.queue(texts_.add,
                    {request, now, entry.who, entry.action, entry.target, entry.reason});
  Answer answer = statements_.ask(texts_.find, {request});
  return answer.next() ? answer.integer(0) : 0;
}

void AuditRows::end(std::int64_t id, std::string_view outcome) {
  statements_.ask(texts_.end, {id, outcome});
}

std::vector<AuditEntry> AuditRows::list(std::optional<std::int64_t> before, std::size_t limit) {
  std::vector<AuditEntry> entries;
  Answer answer = statements_.ask(
      texts_.list, {before.value_or(std::numeric_limits<std::int64_t>::max()), limit});
  while (answer.next()) {
    entries.push_back({answer.integer(0), answer.time(1), answer.bytes(2), answer.bytes(3),
                       answer.bytes(4), answer.bytes(5), answer.maybe_bytes(6)});
  }
  return entries;
}

}  // namespace semel::sql
