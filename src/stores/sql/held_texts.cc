#include "stores/sql/held_arrivals.h"
#include "stores/sql/held_rows.h"
#include "stores/sql/many.h"

namespace semel::sql {
namespace {

// A column of the first row of the line of `this` that satisfies `which`. Ordered by all columns of
// the index, even fixed ones: otherwise MySQL reads the whole line and sorts it.
std::string in_line(const std::string& column, const std::string& which = {}) {
  return "(SELECT other." + column +
         " FROM semel_held AS other WHERE other.consumer = this.consumer "
         "AND other.line = this.line" +
         which + " ORDER BY other.consumer, other.line, other.place LIMIT 1)";
}
// The key of a row that was tried, under which a record may wait with it.
constexpr const char* kTriedKey =
    "CASE WHEN first_seen IS NOT NULL AND fingerprint IS NOT NULL THEN message_key END";
// Whether rows are due that were not due at once: with the first look, to save a second one.
std::string any_timed() {
  return "EXISTS (SELECT 1 FROM semel_held WHERE consumer = ?1 AND due_at >= ?5 AND due_at <= ?2)";
}
constexpr const char* kBehindThis = " AND other.place > this.place";

}  // namespace

HeldTexts::HeldTexts(const Dialect& dialect)
    : lines(dialect),
      add(dialect,
          "INSERT INTO semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect, "
          "attempts, first_seen, fingerprint, message_key, type, content_type, source_partition, "
          "source_position, broker_key, broker_time, headers, payload, line, place, line_bytes, "
          "inbox) VALUES (?1, ?2, ?3, ?4, ?5, FALSE, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
          "?16, ?17, ?18, ?19, ?20, ?21)"),
      due(dialect, "SELECT " + arrival_columns() + ", due_at, enqueued_at, " + any_timed() +
                       " FROM semel_held WHERE consumer = ?1 "
                       "AND due_at <= ?2 AND due_at >= ?4 "
                       "ORDER BY due_at, row_id LIMIT ?3 FOR UPDATE SKIP LOCKED"),
      due_numbers(dialect,
                  "SELECT row_id, due_at, enqueued_at, " + any_timed() +
                      " FROM semel_held WHERE consumer = ?1 "
                      "AND due_at <= ?2 AND due_at >= ?4 ORDER BY due_at, row_id LIMIT ?3"),
      // Ordered, so that the index is used.
      any_due(dialect,
              "SELECT 1 FROM semel_held WHERE consumer = ?1 AND due_at <= ?2 "
              "ORDER BY due_at LIMIT 1"),
      behind(dialect, "SELECT " + arrival_columns() +
                          ", due_at FROM semel_held WHERE consumer = ?1 AND line = ?2 AND place > "
                          "(SELECT place FROM semel_held WHERE row_id = ?3) "
                          "ORDER BY place LIMIT ?4"),
      take(dialect, "UPDATE semel_held SET taken_by = " + std::string(kAfterMany) + ", due_at = " +
                        std::string(kSecondAfterMany) + " WHERE row_id IN " + list()),
      taken(dialect,
            "SELECT row_id FROM semel_held WHERE consumer = ?1 AND due_at = ?3 AND taken_by = ?2"),
      release(dialect,
              "UPDATE semel_held SET taken_by = NULL, due_at = ready_at WHERE row_id = ?1"),
      release_later(dialect,
                    "UPDATE semel_held SET due_at = ?2, ready_at = ?2, taken_by = NULL, "
                    "suspect = FALSE WHERE row_id = ?1"),
      // A row that moved on meanwhile is not hidden again.
      hide(dialect,
           "UPDATE semel_held SET due_at = ?2 "
           "WHERE row_id = ?1 AND taken_by IS NOT NULL AND due_at > ?3"),
      free(dialect, "SELECT row_id, consumer, inbox, " + std::string(kTriedKey) +
                        ", taken_by FROM semel_held WHERE row_id IN " + list() +
                        " AND line IS NULL ORDER BY row_id FOR UPDATE"),
      // For rows that are in lines. A condition for that would make PostgreSQL read the index of
      // all such rows.
      whose(dialect, "SELECT row_id, consumer FROM semel_held WHERE row_id IN " + list()),
      lined(dialect, "SELECT row_id, consumer, inbox, " + in_line("row_id") + ", " +
                         in_line("row_id", kBehindThis) + ", " + in_line("due_at", kBehindThis) +
                         ", " + kTriedKey + ", taken_by FROM semel_held AS this WHERE row_id IN " +
                         list() + " FOR UPDATE"),
      remove(dialect, "DELETE FROM semel_held WHERE row_id IN " + list()),
      find(dialect, "SELECT " + arrival_columns() + " FROM semel_held WHERE row_id = ?1"),
      payload(dialect, "SELECT payload FROM semel_held WHERE row_id = ?1"),
      inbox(dialect, "SELECT inbox FROM semel_held WHERE row_id = ?1"),
      move(dialect,
           "INSERT INTO semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect, "
           "attempts, first_seen, fingerprint, message_key, type, content_type, source_partition, "
           "source_position, broker_key, broker_time, headers, payload, line, place, line_bytes, "
           "inbox) SELECT ?2, consumer, ?3, ?3, enqueued_at, FALSE, ?4, coalesce(first_seen, ?5), "
           "coalesce(?7, fingerprint), coalesce(?6, message_key), type, content_type, "
           "source_partition, source_position, broker_key, broker_time, headers, payload, "
           "CASE WHEN ?9 THEN line END, CASE WHEN ?9 THEN place END, "
           "CASE WHEN ?9 THEN line_bytes END, CASE WHEN ?8 THEN inbox END "
           "FROM semel_held WHERE row_id = ?1"),
      park(dialect,
           "UPDATE semel_held SET due_at = ?2, ready_at = ?2, taken_by = NULL, suspect = FALSE, "
           "line = NULL, place = NULL, line_bytes = NULL WHERE row_id = ?1"),
      // As a plain condition, it would make PostgreSQL read the index of all rows in lines.
      parked_in_lines(dialect,
                      "SELECT row_id FROM semel_held WHERE consumer = ?1 AND due_at = ?2 "
                      "AND CASE WHEN line IS NULL THEN 0 ELSE 1 END = 1 "
                      "ORDER BY due_at, row_id"),
      there(dialect, "SELECT consumer FROM semel_held WHERE row_id = ?1 FOR UPDATE"),
      consumers(dialect, "SELECT number FROM semel_consumer ORDER BY number"),
      // Every taken row becomes visible again, so it is due before rows that are behind others.
      taken_from(dialect,
                 "SELECT row_id FROM semel_held WHERE consumer = ?1 AND due_at < ?2 "
                 "AND taken_by = ?3"),
      // At its old place: a younger copy of it that is not suspect must not pass it.
      show(dialect, "UPDATE semel_held SET due_at = least(ready_at, " +
                        std::string(kSecondAfterMany) +
                        "), taken_by = NULL, suspect = TRUE WHERE row_id IN " + list() +
                        " AND taken_by = " + std::string(kAfterMany)),
      peek(dialect,
           "SELECT due_at FROM semel_held WHERE consumer = ?1 AND due_at < ?2 "
           "ORDER BY due_at LIMIT 1"),
      depth(dialect,
            "SELECT min(due_at), count(*) FROM semel_held WHERE consumer = ?1 AND due_at < ?2"),
      // The index has all that is read of many rows. One statement, for a row that was found may be
      // gone before the next.
      backlog(dialect,
              "SELECT ends.held, coalesce(oldest.first_seen, oldest.enqueued_at), "
              "newest.enqueued_at FROM (SELECT count(*) AS held, min(row_id) AS lowest, "
              "max(row_id) AS highest FROM semel_held WHERE consumer = ?1 AND due_at < ?2) AS ends "
              "LEFT JOIN semel_held AS oldest ON oldest.row_id = ends.lowest "
              "LEFT JOIN semel_held AS newest ON newest.row_id = ends.highest") {}

}  // namespace semel::sql
