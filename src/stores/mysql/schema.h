// The tables: made, and brought up to date.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stores/mysql/wire.h"

namespace semel::mysql {

// Of the tables that are there; 0: none.
int schema_version(Wire& wire);
// Of the tables this library works on.
int newest_version() noexcept;
// Throws R210 where a newer library made them.
void refuse_newer(int version);
// Makes what is missing. Several may do so at once: one works, the others find it done. Writes
// nothing where nothing is missing, so that a user without the right to make tables may call it.
// Throws R207 where a process works on older tables that it would not know any more.
void make_schema(Wire& wire);
// Runs `change` while nobody else changes tables or procedures of this database. Throws R206 where
// somebody does so for long.
void change_alone(Wire& wire, const std::function<void()>& change);
// Runs one statement. Throws what the server refuses.
sql::Answer execute(Wire& wire, const std::string& statement);
// What make_schema would run on tables of `version`, statement by statement; `to`: to bring them to
// that version.
std::vector<std::string> migration_sql(int version, int to = newest_version());
// Throws R207 where tables are missing or old, R210 where a newer library made them.
void need_schema(Wire& wire);

}  // namespace semel::mysql
