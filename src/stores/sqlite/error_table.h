// Maps SQLite's result codes to errors: one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::sqlite {

// `extended`: an extended result code other than OK, ROW and DONE. `path` names the database,
// `said` is SQLite's own message.
Error error_of(int extended, std::string_view path, std::string_view said);

// The last part of the reason `handler.sql.<class>` for a handler's statement.
std::string_view sql_class_of(int extended) noexcept;

// The remedy for an error of a handler's statement, by the phase in which it occurred.
enum class Met { kCompiling, kRunning };
Remedy remedy_of(int extended, Met met) noexcept;

// True where the error concerns the store, not the statement that met it: then no message is at
// fault.
bool is_store_failure(int extended) noexcept;

}  // namespace semel::sqlite
