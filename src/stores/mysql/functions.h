// The procedures by which a consumer in any language claims, in the database of the store's tables.
//
// No stored function is among them: a server with a binary log lets only its administrator make
// one.
#pragma once

#include <string>

#include "stores/mysql/connection.h"

namespace semel::mysql {

// The time of a statement, whatever time zone the session of its caller has.
inline constexpr const char* kCallersClock = "UTC_TIMESTAMP(6)";

// The SQL that makes or replaces them, as a script for the servers' own client. MariaDB keeps the
// grants on procedures that are there; MySQL drops them with the procedure.
std::string functions_sql();
std::string drop_functions_sql();

// Whether the procedures are there, of whatever version, and this user owns them.
bool may_replace_functions(Wire& wire);
// Makes those that are not there as they are to be: each statement commits by
// itself, the one that tells their version last. So grants on a procedure stay that did not change.
void run_function_statements(Wire& wire, const std::string& clock = kCallersClock);

// Makes the tables up to date first. Throws R258 for a server that is too old for them, R207, R210
// and R253 as opening the store does.
void make_functions(Wire& wire, const std::string& clock = kCallersClock);
// Drops the procedures that are there; no record goes.
void drop_functions(Wire& wire);

}  // namespace semel::mysql
