// The tables of a store, and the migration of older files.
#pragma once

#include <cstdint>
#include <string>

#include <semel/admin/records.h>

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

inline constexpr int kSchemaVersion = 7;

// The version of the file's tables; zero where there are none. Throws Failure.
int schema_version(Connection& connection);

// The SQL that make_schema would run on tables of `version`.
std::string migration_sql(int version);

// Makes the tables, or brings them up to date, inside the caller's transaction. Throws Failure:
// R210 for a file that is newer than this library.
void make_schema(Connection& connection, StoreTime now);

// Throws R210 where `version` is newer than this library.
void refuse_newer(const Connection& connection, int version);

}  // namespace semel::sqlite
