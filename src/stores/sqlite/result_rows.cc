#include "stores/sqlite/result_rows.h"

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

ResultRows::ResultRows(Connection& connection)
    : add_(connection, "INSERT INTO semel_result (result) VALUES (?1)"),
      find_(connection, "SELECT result FROM semel_result WHERE row = ?1"),
      remove_(connection, "DELETE FROM semel_result WHERE row = ?1") {}

std::int64_t ResultRows::add(BytesView result) { return add_.bind_bytes(1, result).insert(); }

Bytes ResultRows::find(std::int64_t row) {
  find_.bind(1, row);
  const Reading reading(find_);
  return find_.next() ? find_.text(0) : Bytes();
}

void ResultRows::remove(std::int64_t row) { remove_.bind(1, row).run(); }

}  // namespace semel::sqlite
