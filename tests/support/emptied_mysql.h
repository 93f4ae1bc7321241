// How a database on MariaDB or MySQL becomes as new again (PooledDatabase).
#pragma once

#include <string>

#include "tests/support/database_server.h"

namespace semel::test {

// All that tests may have changed: equal texts are equal databases.
std::string describe_mysql(const DatabaseServer& server, const std::string& database);

// Returns the description of what it has emptied. Waits for sessions that are closing; throws
// std::runtime_error where one stays.
std::string empty_mysql(const DatabaseServer& server, const std::string& database);

}  // namespace semel::test
