// A borrowed connection behind a pooler that gives each transaction another session: PgBouncer.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/guard.h>
#include <semel/postgres.h>

#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

class PooledClient {
 public:
  explicit PooledClient(const std::string& url) : connection_(PQconnectdb(url.c_str())) {}
  ~PooledClient() { PQfinish(connection_); }
  PooledClient(const PooledClient&) = delete;
  PooledClient& operator=(const PooledClient&) = delete;

  bool connected() const { return PQstatus(connection_) == CONNECTION_OK; }
  PGconn* connection() const { return connection_; }
  std::string ask(const std::string& sql) const {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQresultErrorMessage(result);
    std::string first = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return first;
  }

 private:
  PGconn* connection_;
};

class BehindPooler : public testing::TestWithParam<bool> {
 protected:
  BehindPooler() : direct_(database_.url()) {
    direct_.ask("CREATE TABLE effect (name text NOT NULL)");
    start();
  }

  void start() {
    const auto& server = test::PostgresServer::shared();
    const test::PlainUser user = test::plain_user("postgres");
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    test::write_file(
        folder_.file("pooler.ini"),
        fmt::format(
            "[databases]\n* = host={} port={} user={}\n[pgbouncer]\npool_mode = transaction\n"
            "default_pool_size = 2\nlisten_addr = 127.0.0.1\nlisten_port = {}\n"
            "unix_socket_dir =\nauth_type = any\n",
            server.socket_dir(), server.port(), direct_.ask("SELECT current_user"), port_));
    test::ServerCommand command;
    command.arguments = {SEMEL_PGBOUNCER, folder_.file("pooler.ini")};
    command.folder = folder_.path().string();
    command.output = folder_.file("log");
    command.user = user.user;
    command.group = user.group;
    pooler_.emplace(command);
    ASSERT_TRUE(test::comes_true([this] { return PooledClient(url()).connected(); }))
        << test::read_file(folder_.file("log"));
  }
  std::string url() const {
    return fmt::format("postgresql://any@127.0.0.1:{}/{}", port_, database_.name());
  }

  const test::PooledDatabase database_{test::PostgresServer::shared()};
  const PooledClient direct_;
  const test::TempDir folder_;
  const int port_ = test::free_port();
  std::optional<test::ServerProcess> pooler_;
};

// Two callers in turn, each transaction on the session that the other had before.
TEST_P(BehindPooler, EveryKeyHasOneEffectWhateverItsSessionKnows) {
  struct CallerBehind {
    explicit CallerBehind(const std::string& url) : client(url) {
      store = *borrow_postgres(client.connection(),
                               {.create_tables = true, .prepare_statements = GetParam()});
      guard.emplace(*store, GuardOptions{.consumer = "orders"});
    }
    PooledClient client;
    std::unique_ptr<Store> store;
    std::optional<Guard> guard;
    std::set<std::string> sessions;
  };
  CallerBehind callers[] = {CallerBehind(url()), CallerBehind(url())};
  constexpr int kRounds = 24;
  int keys = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (CallerBehind& one : callers) {
      one.client.ask("BEGIN");
      one.sessions.insert(one.client.ask("SELECT pg_backend_pid()"));
    }
    for (CallerBehind& one : callers) {
      const std::string names[] = {fmt::format("key {}", keys), fmt::format("key {}", keys + 1)};
      keys += 2;
      const std::vector<BatchMessage> batch{{names[0], fingerprint_of("body")},
                                            {names[1], fingerprint_of("body")}};
      const auto answers = one.guard->run_batch(batch, [&](std::size_t i, Transaction& tx) {
        tx.exec("INSERT INTO effect VALUES (?)", names[i]);
      });
      for (const auto& answer : answers) {
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->kind, Outcome::Kind::kDone);
      }
    }
    for (CallerBehind& one : callers) one.client.ask("COMMIT");
  }
  for (const CallerBehind& one : callers) EXPECT_EQ(one.sessions.size(), 2U) << "or it is no test";
  EXPECT_EQ(direct_.ask("SELECT count(*) FROM effect"), std::to_string(keys));
  EXPECT_EQ(direct_.ask("SELECT count(DISTINCT name) FROM effect"), std::to_string(keys));
}

INSTANTIATE_TEST_SUITE_P(Postgres, BehindPooler, testing::Bool(),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
