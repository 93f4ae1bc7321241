// Databases of scenes on a PostgreSQL server that is not the shared one.
#pragma once

#include <memory>

#include "tests/chaos/database.h"
#include "tests/support/postgres_server.h"

namespace semel::test {

// `port`: where the workers find the server, which may be a proxy's; zero: the server's own. The
// server outlives it.
std::unique_ptr<Database> make_postgres_database(const PostgresServer& server, int port = 0);

}  // namespace semel::test
