// How a database on PostgreSQL becomes as new again (PooledDatabase).
#pragma once

#include <string>

#include "tests/support/database_server.h"

namespace semel::test {

// Both describe the database as they leave it, with all that a test may change: two with the same
// description are the same. They throw std::runtime_error.

// A store makes its tables in a new database.
std::string fill_postgres(const DatabaseServer& server, const std::string& database);

// Waits for sessions that are closing; throws where one stays.
std::string empty_postgres(const DatabaseServer& server, const std::string& database);

}  // namespace semel::test
