#include "tests/cli/server_test_bed.h"

#include <fmt/format.h>

#include <sstream>

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

ServerTestBed::ServerTestBed(const ServerKind& kind, std::string_view consumer,
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

std::string ServerTestBed::url_of(const std::string& user) const {
  const std::string own = url();
  return own.substr(0, own.find("://") + 3) + user + own.substr(own.find('@'));
}

std::int64_t ServerTestBed::number(const std::string& query) const {
  const std::lock_guard lock(mutex_);
  if (session_) {
    try {
      return std::stoll(session_->query(query));
    } catch (const std::runtime_error&) {
      session_.reset();  // the server was started again since, or ended it
    }
  }
  session_ = server_.open_session(database_);
  return std::stoll(session_->query(query));
}

std::string ServerTestBed::contents(const std::set<std::string>& but) const {
  const bool postgres = kind_.page == kPostgres.page;
  std::istringstream tables(server_.query(
      database_, postgres ? "SELECT tablename FROM pg_tables WHERE schemaname = 'semel' ORDER BY 1"
                          : "SELECT table_name FROM information_schema.tables WHERE table_schema = "
                            "DATABASE() AND table_type = 'BASE TABLE' AND table_name LIKE "
                            "'semel%' ORDER BY table_name"));
  std::string text;
  for (std::string table; std::getline(tables, table);) {
    if (but.contains(table)) continue;
    const std::string all =
        fmt::format("SELECT * FROM {}{} ORDER BY 1", postgres ? "semel." : "", table);
    text += table + ":\n" + server_.query(database_, all) + "\n";
  }
  return text;
}

Ran ServerTestBed::semel(Words words, const StartOptions& options) const {
  words.insert(words.end(), {"-c", config()});
  return run(words, options);
}

Ran ServerTestBed::semel_at(const std::string& url, Words words) const {
  words.insert(words.end(), {"--set", fmt::format("store.{}.url={}", kind_.store, url)});
  return semel(std::move(words));
}

}  // namespace semel::test
