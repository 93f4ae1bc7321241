// How a database on MariaDB or MySQL becomes as new again (PooledDatabase).
#pragma once

#include <string>

#include "tests/support/database_server.h"

namespace semel::test {

// Waits for sessions that are closing. Throws std::runtime_error where one stays.
void empty_mysql(const DatabaseServer& server, const std::string& database);

// All that tests may have changed: equal texts are equal databases.
std::string describe_mysql(const DatabaseServer& server, const std::string& database);

}  // namespace semel::test
