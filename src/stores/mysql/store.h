// The store with injectable parts, for tests.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <semel/mysql.h>

namespace semel::mysql {

struct InnerOptions {
  // The server's clock, as an SQL expression: tests use one that they move.
  std::string clock = "NOW(6)";
  // For this long after the server's start no process counts as gone.
  std::chrono::milliseconds grace{10'000};
};

// As semel::open_mysql.
Result<std::unique_ptr<Store>> open_store(MySqlOptions options, const InnerOptions& inner);

}  // namespace semel::mysql
