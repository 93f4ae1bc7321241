// Databases on servers to measure on.
#pragma once

#include <cstddef>
#include <memory>

#include "benchmarks/by_hand.h"
#include "benchmarks/database_pool.h"
#include "benchmarks/report.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::bench {

// As durable as it comes and large enough for millions of records; as quick as it can be for smoke.
test::PostgresServer::Options postgres_options(const Options& options);

// With `rows` accounts. Its database goes back to the pool.
std::unique_ptr<Place> make_postgres_place(DatabasePool& databases, std::size_t rows);
// A database that has served another place keeps Semel's tables.
std::unique_ptr<Place> make_mysql_place(DatabasePool& databases, std::size_t rows);

}  // namespace semel::bench
