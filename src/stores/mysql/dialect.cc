#include "stores/mysql/dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "stores/sql/many.h"

namespace semel::mysql {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// Replaces excluded.name, everywhere in `text`.
std::string of_new_row(std::string_view text) {
  constexpr std::string_view kExcluded = "excluded.";
  std::string out;
  for (std::size_t at = text.find(kExcluded); at != std::string_view::npos;
       at = text.find(kExcluded)) {
    const std::string_view name = text.substr(at + kExcluded.size());
    const std::size_t length = std::min(name.find_first_of(", )"), name.size());
    out += text.substr(0, at);
    out += fmt::format("VALUES({})", name.substr(0, length));
    text = name.substr(length);
  }
  return out += text;
}

// ON CONFLICT (a, b) DO …: MySQL names no index. The tables have no other unique one that could
// conflict.
std::string with_upsert(const std::string& text) {
  constexpr std::string_view kConflict = "ON CONFLICT (";
  constexpr std::string_view kUpdate = " DO UPDATE SET ";
  const std::size_t at = text.find(kConflict);
  if (at == std::string::npos) return text;
  const std::size_t columns = at + kConflict.size();
  const std::size_t close = text.find(')', columns);
  const std::string first = text.substr(columns, text.find_first_of(",)", columns) - columns);
  const std::string_view rest = std::string_view(text).substr(close + 1);
  const std::string changes = rest.starts_with(kUpdate) ? of_new_row(rest.substr(kUpdate.size()))
                                                        : fmt::format("{0} = {0}", first);
  return text.substr(0, at) + "ON DUPLICATE KEY UPDATE " + changes;
}

// The server may scan a whole table that is small, or whose statistics are old. A change locks what
// it reads, at least for a moment, and waits for locks of others: so each statement about held rows
// names its index. The last entries rewrite the results of the first.
constexpr const char* kByIndex[][2] = {
    {"FROM semel_held WHERE row_id IN ", "FROM semel_held FORCE INDEX (PRIMARY) WHERE row_id IN "},
    {"FROM semel_held AS this WHERE row_id IN ",
     "FROM semel_held AS this FORCE INDEX (PRIMARY) WHERE row_id IN "},
    {"UPDATE semel_held SET ", "UPDATE semel_held FORCE INDEX (PRIMARY) SET "},
    {"FROM semel_held WHERE consumer = ?1 AND due_at ",
     "FROM semel_held FORCE INDEX (semel_held_due) WHERE consumer = ?1 AND due_at "},
    {"FROM semel_held WHERE consumer = ?1 AND line ",
     "FROM semel_held FORCE INDEX (semel_held_line) WHERE consumer = ?1 AND line "},
    {"FROM semel_held AS other WHERE other.consumer = this.consumer AND other.line ",
     "FROM semel_held AS other FORCE INDEX (semel_held_line) WHERE other.consumer = this.consumer "
     "AND other.line "},
    {"DELETE FROM semel_held FORCE ", "DELETE semel_held FROM semel_held FORCE "},
};

// MariaDB keeps the locks of rows that a locking query has passed. So the query gets the numbers of
// matching rows, found without a lock, in their order; the LIMIT keeps the server from merging the
// two queries.
std::string with_fitting_locked(const std::string& text) {
  constexpr std::string_view kFitting = " AND line IS NULL";
  constexpr std::string_view kLocked = " AND line IS NULL ORDER BY row_id FOR UPDATE";
  if (!text.ends_with(kLocked)) return text;
  const std::size_t from = text.find(" FROM ");
  const std::size_t condition = text.find(" WHERE ");
  const std::string table = text.substr(from, condition - from);
  const std::string values = text.substr(condition, text.size() - kLocked.size() - condition);
  return fmt::format(
      "{0} FROM (SELECT row_id AS fits{1}{2}{3} ORDER BY row_id LIMIT {5}) AS fitting "
      "STRAIGHT_JOIN {4} ON row_id = fits WHERE line IS NULL ORDER BY row_id FOR UPDATE",
      text.substr(0, from), table, values, kFitting, table.substr(std::size(" FROM ") - 1),
      sql::kMany);
}

}  // namespace

std::string Dialect::translated(std::string_view shared) const {
  std::string text = with_upsert(std::string(shared));
  for (const char* const value : {"?2", "?4"}) {
    replace_all(text, fmt::format("CAST({} AS semel_state)", value), value);
  }
  for (const auto& [what, by] : kByIndex) replace_all(text, what, by);
  return with_fitting_locked(text);
}

std::string_view Dialect::list_open() const noexcept {
  return "INSERT INTO semel_open (id) VALUES (?1) ON CONFLICT (id) DO NOTHING";
}

std::string_view Dialect::unlist_open() const noexcept {
  return "DELETE FROM semel_open WHERE id = ?1";
}

}  // namespace semel::mysql
