// A database of the user's on a server, a config over it, and the program.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/database_server.h"

namespace semel::test {

// The differences between servers.
struct ServerKind {
  std::string_view name;   // as tests are named
  std::string_view store;  // as in `store:`
  const DatabaseServer& (*shared)();
  std::unique_ptr<DatabaseServer> (*own)();  // to stop and to kill; a fast one
  std::string_view called;                   // in messages
  std::string_view missing_table;            // what it says of a table that is not there
  std::string_view first_table;              // how the table of records begins
  std::string_view page;                     // of docs/stores, and of tests/cli, its examples
};
extern const ServerKind kPostgres;
extern const ServerKind kMariaDb;
extern const ServerKind kMySql;

// MySQL 8 only where there is one.
std::vector<ServerKind> server_kinds();
std::string name_of_kind(const ServerKind& kind);

class ServerTestBed {
 public:
  // `consumer`: as TestBed takes it. It has accounts 1 to 100.
  ServerTestBed(const ServerKind& kind, std::string_view consumer)
      : ServerTestBed(kind, consumer, kind.shared()) {}
  ServerTestBed(const ServerKind& kind, std::string_view consumer, const DatabaseServer& server);

  const ServerKind& kind() const { return kind_; }
  const DatabaseServer& server() const { return server_; }
  const std::string& database() const { return database_; }
  std::string url() const { return server_.url(database_); }
  // The same of another user: "ann", "ann:password".
  std::string url_of(const std::string& user) const;
  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string config() const { return file("semel.yaml"); }
  void sql(const std::string& text) const { server_.query(database_, text); }
  // Asks a query that changes nothing. Safe for several threads.
  std::int64_t number(const std::string& query) const;
  // The rows of all of Semel's tables but these.
  std::string contents(const std::set<std::string>& but = {}) const;
  std::int64_t sum() const { return number("SELECT sum(balance) FROM account"); }
  // The program with `-c` of this config behind the words.
  Ran semel(Words words, const StartOptions& options = {}) const;
  // The same with another URL in the config's place.
  Ran semel_at(const std::string& url, Words words) const;

 private:
  const ServerKind kind_;
  const DatabaseServer& server_;
  const std::string database_;
  TempDir folder_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<DatabaseServer::Session> session_;  // kept by number()
};

}  // namespace semel::test
