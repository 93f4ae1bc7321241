// The SQL functions by which a consumer in any language claims, in the schema of the store's
// tables.
#pragma once

#include <string>

#include "stores/postgres/connection.h"

namespace semel::postgres {

// The SQL that makes or replaces them. Grants on existing functions stay. Throws R274 for a schema
// whose name cannot be in their text.
std::string functions_sql(const std::string& schema, const std::string& clock = Endpoint{}.clock);
std::string drop_functions_sql(const std::string& schema);

// Whether the schema has the functions, in any version, and this user may replace each.
bool may_replace_functions(PGconn* connection, const std::string& schema);

// Makes them in one transaction, after bringing the tables up to date. Throws R258 for a server
// that is too old for them, R207, R210 and R253 as opening the store does.
void make_functions(PGconn* connection, const std::string& schema,
                    const std::string& clock = Endpoint{}.clock);
// Drops the existing functions; records stay.
void drop_functions(PGconn* connection, const std::string& schema);

}  // namespace semel::postgres
