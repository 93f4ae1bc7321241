#include "stores/sql/position_rows.h"

namespace semel::sql {

PositionTexts::PositionTexts(const Dialect& dialect)
    : load(dialect,
           "SELECT source_position FROM semel_position "
           "WHERE consumer = ?1 AND source_partition = ?2"),
      save(dialect,
           "INSERT INTO semel_position (consumer, source_partition, source_position, saved_at) "
           "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (consumer, source_partition) DO UPDATE SET "
           "source_position = excluded.source_position, saved_at = excluded.saved_at") {}

std::optional<Bytes> PositionRows::load(ConsumerNumber consumer, std::string_view partition) {
  Answer answer = statements_.ask(texts_.load, {consumer, partition});
  if (!answer.next()) return std::nullopt;
  return answer.bytes(0);
}

void PositionRows::save(ConsumerNumber consumer, std::string_view partition, BytesView position,
                        StoreTime now) {
  statements_.ask(texts_.save, {consumer, partition, position, now});
}

}  // namespace semel::sql
