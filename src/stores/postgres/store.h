// The store with injectable parts, for tests.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <semel/postgres.h>

namespace semel::postgres {

struct InnerOptions {
  // The server's clock, as an SQL expression: tests use one that they move.
  std::string clock = "clock_timestamp()";
  // For this long after the server's start no process counts as gone.
  std::chrono::milliseconds grace{10'000};
};

// As semel::open_postgres.
Result<std::unique_ptr<Store>> open_store(PostgresOptions options, const InnerOptions& inner);

}  // namespace semel::postgres
