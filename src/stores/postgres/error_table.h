// Maps PostgreSQL's SQLSTATEs to errors, in one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::postgres {

inline constexpr std::string_view kNoSuchTable = "42P01";
inline constexpr std::string_view kForbidden = "42501";
inline constexpr std::string_view kReadOnly = "25006";      // the server, or the transaction
inline constexpr std::string_view kNotSupported = "0A000";  // or tables that changed meanwhile

// A SQLSTATE as a number, for Failure; zero for an empty one.
int code_of(std::string_view sqlstate) noexcept;

// `said`: the server's own message.
Error error_of(std::string_view sqlstate, std::string_view said);
// The connection ended, or never began.
Error unreachable(std::string_view said);
// A connection that cannot be borrowed; `said`: libpq's reason.
Error not_open(std::string_view said);
// A borrowed connection ended.
Error borrowed_lost(std::string_view said);
// True for errors of a prepared statement whose types or tables have changed since, which a freshly
// prepared statement would not have.
bool may_be_outdated(std::string_view sqlstate) noexcept;
// True where the name of a prepared statement is missing, or exists already.
bool is_refused_name(std::string_view sqlstate) noexcept;
// The last part of a handler's reason: constraint, syntax, refused, busy, other.
std::string_view sql_class_of(std::string_view sqlstate) noexcept;
// The remedy for an error of a handler's statement.
Remedy remedy_of(std::string_view sqlstate) noexcept;
// True where the store, or another transaction, is at fault, not the statement.
bool is_store_failure(std::string_view sqlstate) noexcept;

}  // namespace semel::postgres
