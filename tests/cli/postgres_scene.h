// A database of the user's on a server, a config over it, and the program.
#pragma once

#include <string>
#include <string_view>

#include "tests/cli/program.h"
#include "tests/support/postgres_server.h"

namespace semel::test {

class PostgresScene {
 public:
  // `consumer`: as Scene takes it. It has accounts 1 to 100.
  explicit PostgresScene(std::string_view consumer,
                         const PostgresServer& server = PostgresServer::shared());

  const PostgresServer& server() const { return server_; }
  const std::string& database() const { return database_; }
  std::string url() const { return server_.url(database_); }
  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string config() const { return file("semel.yaml"); }
  void sql(const std::string& text) const { server_.query(database_, text); }
  std::int64_t number(const std::string& query) const;
  std::int64_t sum() const { return number("SELECT sum(balance) FROM account"); }
  // The program with `-c` of this config behind the words.
  Ran semel(Words words, const StartOptions& options = {}) const;
  // The same with another URL in the config's place.
  Ran semel_at(const std::string& url, Words words) const;

 private:
  const PostgresServer& server_;
  const std::string database_;
  TempDir folder_;
};

}  // namespace semel::test
