// PooledDatabase: a database that one test after another uses, where each would make its own.
//
//   const PooledDatabase database(PostgresServer::shared());
//   const auto store = open_postgres({.url = database.url()});
//
// A test finds it as a new one in which a store has made its tables: no rows, no tables but the
// store's, every number to be drawn from its first. All that it leaves is removed when it gives
// the database back, which it does after its own connections are closed.
//
// A test that needs a database without the store's tables calls DatabaseServer::new_database().
#pragma once

#include <string>

#include "tests/support/database_server.h"

namespace semel::test {

class PostgresServer;
class MySqlFamilyServer;

class PooledDatabase {
 public:
  explicit PooledDatabase(const PostgresServer& server);
  explicit PooledDatabase(const MySqlFamilyServer& server);
  // Reports on stderr why no other test can reuse it: a session is still open in it, or it differs
  // from a new one after the removal of everything that a test may leave.
  ~PooledDatabase();
  PooledDatabase(const PooledDatabase&) = delete;
  PooledDatabase& operator=(const PooledDatabase&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::string url() const { return server_.url(name_); }

 private:
  // Both return a description of the database.
  using Look = std::string (*)(const DatabaseServer& server, const std::string& database);

  PooledDatabase(const DatabaseServer& server, Look fill, Look empty);

  const DatabaseServer& server_;
  const Look empty_;
  std::string name_;
  // Its description from before the first test.
  std::string pristine_;
};

}  // namespace semel::test
