// What PostgreSQL's SQLSTATEs mean to Semel, in one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::postgres {

inline constexpr std::string_view kNoSuchTable = "42P01";
inline constexpr std::string_view kForbidden = "42501";
inline constexpr std::string_view kNotSupported = "0A000";  // or tables that changed meanwhile

// A SQLSTATE as a number, as Failure carries it; zero for an empty one.
int code_of(std::string_view sqlstate) noexcept;

// `said`: the server's own words.
Error error_of(std::string_view sqlstate, std::string_view said);
// The connection ended, or never began.
Error unreachable(std::string_view said);
// True for what a prepared statement says when the types or tables it was prepared for have
// changed, and a statement that was prepared just now does not.
bool may_be_outdated(std::string_view sqlstate) noexcept;
// True where a prepared statement's name is not there, or is there already.
bool is_refused_name(std::string_view sqlstate) noexcept;
// The last part of a handler's reason: constraint, syntax, refused, busy, other.
std::string_view sql_class_of(std::string_view sqlstate) noexcept;
// The remedy for an error of a handler's statement.
Remedy remedy_of(std::string_view sqlstate) noexcept;
// True where not the statement but the store, or another transaction, is at fault.
bool is_store_failure(std::string_view sqlstate) noexcept;

}  // namespace semel::postgres
