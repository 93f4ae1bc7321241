#include "stores/sqlite/statement_rows.h"

#include <sqlite3.h>

namespace semel::sqlite {

namespace {

Value value_at(sqlite3_stmt* statement, int column) {
  const auto bytes = [&](const void* data) {
    const int size = sqlite3_column_bytes(statement, column);
    return data == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement, column));
    case SQLITE_BLOB:
      return Blob{bytes(sqlite3_column_blob(statement, column))};
    default:
      return Null{};
  }
}

}  // namespace

void take_row(sqlite3_stmt* statement, Rows& rows) {
  const int columns = sqlite3_column_count(statement);
  auto& row = rows.rows.emplace_back();
  row.reserve(static_cast<std::size_t>(columns));
  for (int column = 0; column < columns; ++column) row.push_back(value_at(statement, column));
}

void take_columns(sqlite3_stmt* statement, Rows& rows) {
  const int columns = sqlite3_column_count(statement);
  for (int column = 0; column < columns; ++column) {
    const char* const name = sqlite3_column_name(statement, column);
    rows.columns.emplace_back(name != nullptr ? name : "");
  }
}

}  // namespace semel::sqlite
