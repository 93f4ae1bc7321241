// Databases on servers to measure on.
#pragma once

#include <cstddef>
#include <memory>

#include "benchmarks/by_hand.h"
#include "benchmarks/report.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::bench {

// As durable as it comes and large enough for millions of records; as quick as it can be for smoke.
test::PostgresServer::Options postgres_options(const Options& options);

// With `rows` accounts, in a pooled database.
std::unique_ptr<SocketDirectory> make_postgres_place(const test::PostgresServer& server,
                                                     std::size_t rows);
std::unique_ptr<SocketDirectory> make_mysql_place(const test::MySqlFamilyServer& server,
                                                  std::size_t rows);

}  // namespace semel::bench
