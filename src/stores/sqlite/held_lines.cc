#include "stores/sqlite/held_lines.h"

#include <algorithm>

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

HeldLines::HeldLines(Connection& connection)
    : join_(connection,
            "UPDATE semel_held SET line = ?3, "
            "place = max(row, coalesce((SELECT max(place) + 1 FROM semel_held "
            "  WHERE consumer = ?2 AND line = ?3), 0)), "
            "line_bytes = length(payload) + coalesce((SELECT line_bytes FROM semel_held "
            "  WHERE consumer = ?2 AND line = ?3 ORDER BY place DESC LIMIT 1), 0) "
            "WHERE row = ?1"),
      // Looking at two rows is enough: rows between the first one and the direct predecessor were
      // held by this process when the predecessor was taken, and leave its hands only together with
      // all rows behind them.
      waits_(connection,
             "SELECT 1 FROM semel_held AS this JOIN semel_held AS other "
             "ON other.consumer = this.consumer AND other.line = this.line "
             "WHERE this.row = ?1 AND other.place IN ("
             "(SELECT min(place) FROM semel_held WHERE consumer = this.consumer "
             "  AND line = this.line AND place < this.place), "
             "(SELECT max(place) FROM semel_held WHERE consumer = this.consumer "
             "  AND line = this.line AND place < this.place)) "
             "AND NOT (other.taken_by IS ?2 AND other.due_at > ?3) LIMIT 1"),
      put_behind_(connection, "UPDATE semel_held SET due_at = ?2, taken_by = NULL WHERE row = ?1"),
      move_up_(connection,
               "UPDATE semel_held SET due_at = ready_at WHERE due_at = ?3 AND row = "
               "(SELECT row FROM semel_held WHERE consumer = ?1 AND line = ?2 "
               "ORDER BY place LIMIT 1)"),
      behind_(connection,
              "SELECT other.row, other.due_at FROM semel_held AS this "
              "JOIN semel_held AS other ON other.consumer = this.consumer "
              "AND other.line = this.line AND other.place > this.place "
              "WHERE this.row = ?1 ORDER BY other.place LIMIT ?2"),
      // Each row stores the bytes of its line up to itself.
      bytes_(connection,
             "SELECT (SELECT line_bytes FROM semel_held WHERE consumer = ?1 AND line = ?2 "
             "ORDER BY place DESC LIMIT 1) - line_bytes + length(payload) FROM semel_held "
             "WHERE consumer = ?1 AND line = ?2 ORDER BY place LIMIT 1"),
      all_(connection,
           "SELECT DISTINCT line FROM semel_held WHERE consumer = ?1 AND line IS NOT NULL") {}

void HeldLines::join(RowTag row, ConsumerNumber consumer, BytesView line) {
  join_.bind(1, static_cast<std::int64_t>(row)).bind(2, consumer).bind_bytes(3, line).run();
}

bool HeldLines::waits(RowTag row, std::int64_t instance, StoreTime now) {
  waits_.bind(1, static_cast<std::int64_t>(row)).bind(2, instance).bind(3, now);
  const Reading reading(waits_);
  return waits_.next();
}

void HeldLines::put_behind(RowTag row) {
  put_behind_.bind(1, static_cast<std::int64_t>(row)).bind(2, kBehind).run();
}

void HeldLines::move_up(ConsumerNumber consumer, BytesView line) {
  move_up_.bind(1, consumer).bind_bytes(2, line).bind(3, kBehind).run();
}

std::vector<RowTag> HeldLines::behind(RowTag row, std::size_t most) {
  std::vector<RowTag> rows;
  behind_.bind(1, static_cast<std::int64_t>(row)).bind(2, static_cast<std::int64_t>(most));
  const Reading reading(behind_);
  while (behind_.next() && behind_.time(1) == kBehind) rows.push_back(RowTag{behind_.integer(0)});
  return rows;
}

std::optional<std::size_t> HeldLines::bytes(ConsumerNumber consumer, BytesView line) {
  bytes_.bind(1, consumer).bind_bytes(2, line);
  const Reading reading(bytes_);
  if (!bytes_.next()) return std::nullopt;
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes_.integer(0), 0));
}

std::vector<Bytes> HeldLines::all(ConsumerNumber consumer) {
  std::vector<Bytes> lines;
  all_.bind(1, consumer);
  const Reading reading(all_);
  while (all_.next()) lines.push_back(all_.text(0));
  return lines;
}

}  // namespace semel::sqlite
