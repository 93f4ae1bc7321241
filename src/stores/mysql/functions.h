// The procedures by which a consumer in any language claims, in the database of the store's tables.
//
// None of them is a stored function: a server with a binary log lets only its administrator make
// one.
#pragma once

#include <string>

#include "stores/mysql/connection.h"

namespace semel::mysql {

// The time of a statement, independent of the caller's time zone.
inline constexpr const char* kCallersClock = "UTC_TIMESTAMP(6)";

// The SQL that makes or replaces them, as a script for the servers' own client. MariaDB keeps the
// grants on existing procedures; MySQL drops them with the procedure.
std::string functions_sql();
std::string drop_functions_sql();

// Whether the procedures exist, in any version, and this user owns them.
bool may_replace_functions(Wire& wire);
// Makes those that are missing or different: each statement commits by itself, the one for the
// version last. So grants on an unchanged procedure stay.
void run_function_statements(Wire& wire, const std::string& clock = kCallersClock);

// Brings the tables up to date first. Throws R258 for a server that is too old for them, R207, R210
// and R253 as opening the store does.
void make_functions(Wire& wire, const std::string& clock = kCallersClock);
// Drops the existing procedures; records stay.
void drop_functions(Wire& wire);

}  // namespace semel::mysql
