// Reads the rows of a running statement for users.
#pragma once

#include <semel/statement.h>

struct sqlite3_stmt;

namespace semel::sqlite {

// Sets the names of its columns.
void take_columns(sqlite3_stmt* statement, Rows& rows);
// Appends its current row.
void take_row(sqlite3_stmt* statement, Rows& rows);

}  // namespace semel::sqlite
