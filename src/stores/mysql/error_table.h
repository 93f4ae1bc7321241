// Maps the errors of MariaDB and MySQL, in one table.
#pragma once

#include <string_view>

#include <semel/error.h>

namespace semel::mysql {

inline constexpr unsigned kReadOnlyTransaction = 1792;

// The error that a server, or the client library, returned for a statement.
struct Refusal {
  unsigned code = 0;
  std::string state;  // SQLSTATE
  std::string said;
};

Error error_of(const Refusal& refusal);
// The connection ended, or never began.
bool is_lost(unsigned code) noexcept;
// The server itself only reads, not the transaction.
bool only_reads(unsigned code) noexcept;
// For a COMMIT: the server undid the transaction, but its replication group may have it, and keep
// it.
bool may_be_replicated(unsigned code) noexcept;
// The last part of a handler's reason: constraint, syntax, refused, busy, other.
std::string_view sql_class_of(const Refusal& refusal) noexcept;
// The remedy for an error of a handler's statement.
Remedy remedy_of(unsigned code) noexcept;
// True where the store, or another transaction, is at fault, not the statement.
bool is_store_failure(const Refusal& refusal) noexcept;

}  // namespace semel::mysql
