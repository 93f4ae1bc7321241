// Databases on servers to measure on.
#pragma once

#include <cstddef>
#include <memory>

#include "benchmarks/by_hand.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::bench {

// With `rows` accounts. Gone with the server.
std::unique_ptr<Place> make_postgres_place(const test::PostgresServer& server, std::size_t rows);
std::unique_ptr<Place> make_mysql_place(const test::MySqlFamilyServer& server, std::size_t rows);

}  // namespace semel::bench
