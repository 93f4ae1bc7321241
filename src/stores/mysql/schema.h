// Makes the tables, and brings them up to date.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stores/mysql/wire.h"

namespace semel::mysql {

// The version of the existing tables; 0: none.
int schema_version(Wire& wire);
// The version this library works on.
int newest_version() noexcept;
// Throws R210 where a newer library made them.
void refuse_newer(int version);
// Makes what is missing. Concurrent calls are safe: one works, the others find it done. Writes
// nothing where nothing is missing, so that a user without the right to make tables may call it.
// Throws R207 where an older process that would not understand the new tables is using them.
void make_schema(Wire& wire);
// Runs `change` while no one else changes tables or procedures of this database. Throws R206 where
// another does so for long.
void change_alone(Wire& wire, const std::function<void()>& change);
// Runs one statement. Throws the server's refusal.
sql::Answer execute(Wire& wire, const std::string& statement);
// The SQL that make_schema would run on tables of `version`, statement by statement; `to`: the
// version to reach.
std::vector<std::string> migration_sql(int version, int to = newest_version());
// Throws R207 where tables are missing or old, R210 where a newer library made them.
// `make`: how missing ones are made, for its hint.
void need_schema(Wire& wire, std::string_view make = "semel store init");

}  // namespace semel::mysql
