// The SQL functions by which a consumer in any language claims, in the schema of the store's
// tables.
#pragma once

#include <string>

#include "stores/postgres/connection.h"

namespace semel::postgres {

// The SQL that makes or replaces them. Grants on functions that are there stay. Throws R274 for a
// schema whose name cannot stand in their text.
std::string functions_sql(const std::string& schema, const std::string& clock = Place{}.clock);
std::string drop_functions_sql(const std::string& schema);

// Whether the schema has the functions, of whatever version, and this user may replace each.
bool may_replace_functions(PGconn* connection, const std::string& schema);

// In one transaction; makes the tables up to date first. Throws R258 for a server that is too old
// for them, R207, R210 and R253 as opening the store does.
void make_functions(PGconn* connection, const std::string& schema,
                    const std::string& clock = Place{}.clock);
// Drops the functions that are there; no record goes.
void drop_functions(PGconn* connection, const std::string& schema);

}  // namespace semel::postgres
