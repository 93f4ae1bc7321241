#include "tests/cli/server_scene.h"

#include <fmt/format.h>

#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::test {

const ServerKind kPostgres = {
    .name = "Postgres",
    .store = "postgres",
    .shared = []() -> const DatabaseServer& { return PostgresServer::shared(); },
    .own = []() -> std::unique_ptr<DatabaseServer> {
      return std::make_unique<PostgresServer>(PostgresServer::fast());
    },
    .called = "PostgreSQL server",
    .missing_table = "relation \"account\" does not exist",
    .first_table = "CREATE TABLE \"semel\".semel_record",
    .page = "postgres",
};

const ServerKind kMariaDb = {
    .name = "MariaDb",
    .store = "mysql",
    .shared = []() -> const DatabaseServer& { return MariaDbServer::shared(); },
    .own = []() -> std::unique_ptr<DatabaseServer> {
      return std::make_unique<MariaDbServer>(MySqlFamilyServer::fast());
    },
    .called = "MySQL server",
    .missing_table = ".account' doesn't exist",
    .first_table = "CREATE TABLE IF NOT EXISTS semel_record",
    .page = "mysql",
};

const ServerKind kMySql = {
    .name = "MySql8",
    .store = "mysql",
    .shared = []() -> const DatabaseServer& { return MySqlServer::shared(); },
    .own = []() -> std::unique_ptr<DatabaseServer> {
      return std::make_unique<MySqlServer>(MySqlFamilyServer::fast());
    },
    .called = "MySQL server",
    .missing_table = ".account' doesn't exist",
    .first_table = "CREATE TABLE IF NOT EXISTS semel_record",
    .page = "mysql",
};

std::vector<ServerKind> server_kinds() {
  std::vector<ServerKind> kinds = {kPostgres, kMariaDb};
  if (!MySqlServer::why_absent()) kinds.push_back(kMySql);
  return kinds;
}

std::string name_of_kind(const ServerKind& kind) { return std::string(kind.name); }

ServerScene::ServerScene(const ServerKind& kind, std::string_view consumer,
                         const DatabaseServer& server)
    : kind_(kind), server_(server), database_(server.new_database()) {
  write_file(config(), fmt::format("version: 1\n"
                                   "store: {{ {}: {{ url: \"{}\" }} }}\n"
                                   "consumers:\n"
                                   "  - name: payments\n{}",
                                   kind.store, url(), consumer));
  std::string accounts;
  for (int id = 1; id <= 100; ++id) accounts += fmt::format("{}({})", id == 1 ? "" : ",", id);
  sql("CREATE TABLE account(id integer PRIMARY KEY, balance bigint NOT NULL DEFAULT 0);"
      "INSERT INTO account(id) VALUES " +
      accounts);
}

std::string ServerScene::url_of(const std::string& user) const {
  const std::string own = url();
  return own.substr(0, own.find("://") + 3) + user + own.substr(own.find('@'));
}

std::int64_t ServerScene::number(const std::string& query) const {
  return std::stoll(server_.query(database_, query));
}

Ran ServerScene::semel(Words words, const StartOptions& options) const {
  words.insert(words.end(), {"-c", config()});
  return run(words, options);
}

Ran ServerScene::semel_at(const std::string& url, Words words) const {
  words.insert(words.end(), {"--set", fmt::format("store.{}.url={}", kind_.store, url)});
  return semel(std::move(words));
}

}  // namespace semel::test
