// The rows of a running statement, as users see them.
#pragma once

#include <semel/statement.h>

struct sqlite3_stmt;

namespace semel::sqlite {

// The names of its columns.
void take_columns(sqlite3_stmt* statement, Rows& rows);
// Its current row, one more.
void take_row(sqlite3_stmt* statement, Rows& rows);

}  // namespace semel::sqlite
