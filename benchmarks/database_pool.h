// DatabasePool: databases of one server, used by one place after the other. To make a database, and
// in MariaDB its tables, takes longer than a short case.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/database_server.h"

namespace semel::bench {

// The server outlives it. Not thread-safe.
class DatabasePool {
 public:
  // Without `reuse` each place gets a new database.
  explicit DatabasePool(const test::DatabaseServer& server, bool reuse = true)
      : server_(server), reuse_(reuse) {}

  // The name of one that holds nothing, or what its last place has left in it.
  std::string take() {
    if (free_.empty()) return server_.new_database();
    std::string database = std::move(free_.back());
    free_.pop_back();
    return database;
  }
  void give_back(std::string database) {
    if (reuse_) free_.push_back(std::move(database));
  }

  const test::DatabaseServer& server() const noexcept { return server_; }
  // Where its unix socket is.
  const std::string& socket() const noexcept { return server_.address().socket; }

 private:
  const test::DatabaseServer& server_;
  const bool reuse_;
  std::vector<std::string> free_;
};

}  // namespace semel::bench
