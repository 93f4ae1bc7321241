// The SELECTs of pessimistic_lock and optimistic_lock: their rules, and how they are rewritten.
// Pure. All take a statement with `:name` params and refuse (kRejected) unsupported ones, saying
// what to write.
#pragma once

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::core {

// How the store's database keeps two transactions from changing one row.
enum class RowLocks {
  kForUpdate,  // a SELECT … FOR UPDATE locks it
  kOneWriter,  // a writer has the whole database, and FOR UPDATE does not exist
};

// `select` with 1 or 0 as its last column: whether `done_when`, a condition over its row, holds.
// NULL is no. FOR UPDATE must end it; with kOneWriter it is optional, and is left out.
Result<std::string> lock_select(std::string_view select, std::string_view done_when,
                                RowLocks locks);

// `select` in the database's form, and the table it reads first. FOR UPDATE may end it.
struct VersionSelect {
  std::string sql;
  std::string table;  // without its schema
};
Result<VersionSelect> version_select(std::string_view select, RowLocks locks);

}  // namespace semel::core
