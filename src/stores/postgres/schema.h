// Makes the schema, and brings it up to date.
#pragma once

#include <string>

#include "stores/postgres/connection.h"

namespace semel::postgres {

// The version of the existing tables; 0: none.
int schema_version(PGconn* connection, const std::string& schema);
// The version this library works on.
int newest_version() noexcept;
// Throws R210 where a newer library made them.
void refuse_newer(int version, const std::string& schema);
// Makes what is missing. Concurrent calls are safe: one works, the others find it done. Writes
// nothing where nothing is missing, so that a role without the right to make tables may call it.
void make_schema(PGconn* connection, const std::string& schema);
// Until the transaction ends, no other session changes tables or functions of the schema.
void lock_schema(PGconn* connection, const std::string& schema);
// The SQL that make_schema would run on tables of `version`.
std::string migration_sql(int version, const std::string& schema);
// Throws R207 where tables are missing or old. `make`: how missing ones are made, for its hint.
void need_schema(PGconn* connection, const std::string& schema,
                 std::string_view make = "semel store init");

}  // namespace semel::postgres
