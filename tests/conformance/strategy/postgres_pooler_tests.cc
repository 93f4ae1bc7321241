// Behind a pooler, PgBouncer: a borrowed connection where each transaction has another session, and
// a store whose pooler loses the server during a commit.
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
#include <semel/spi/run_markers.h>

#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/tcp_proxy.h"
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

class PgBouncer {
 public:
  // `server`: what PgBouncer's own connections are made with.
  void start(const std::string& mode, const std::string& server) {
    const test::PlainUser user = test::plain_user("postgres");
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    test::write_file(
        folder_.file("pooler.ini"),
        fmt::format("[databases]\n* = {}\n[pgbouncer]\npool_mode = {}\n"
                    "default_pool_size = {}\nlisten_addr = 127.0.0.1\nlisten_port = {}\n"
                    "unix_socket_dir =\nauth_type = any\n"
                    "ignore_startup_parameters = extra_float_digits,options\n",
                    server, mode, mode == "session" ? 20 : 2, port_));
    test::ServerCommand command;
    command.arguments = {SEMEL_PGBOUNCER, folder_.file("pooler.ini")};
    command.folder = folder_.path().string();
    command.output = folder_.file("log");
    command.user = user.user;
    command.group = user.group;
    process_.emplace(command);
  }
  std::string url(const std::string& database) const {
    return fmt::format("postgresql://any@127.0.0.1:{}/{}", port_, database);
  }
  std::string log() const { return test::read_file(folder_.file("log")); }

 private:
  const test::TempDir folder_;
  const int port_ = test::free_port();
  std::optional<test::ServerProcess> process_;
};

class BehindPooler : public testing::TestWithParam<bool> {
 protected:
  BehindPooler() : direct_(database_.url()) {
    direct_.ask("CREATE TABLE effect (name text NOT NULL)");
    const auto& server = test::PostgresServer::shared();
    pooler_.start("transaction", fmt::format("host={} port={} user={}", server.socket_dir(),
                                             server.port(), direct_.ask("SELECT current_user")));
    EXPECT_TRUE(test::comes_true([this] { return PooledClient(url()).connected(); }))
        << pooler_.log();
  }

  std::string url() const { return pooler_.url(database_.name()); }

  const test::PooledDatabase database_{test::PostgresServer::shared()};
  const PooledClient direct_;
  PgBouncer pooler_;
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

// PgBouncer reports a server that it lost by an error of its own, 08P01.
class PoolerLosesServer : public testing::Test {
 protected:
  PoolerLosesServer() {
    pooler_.start("session", fmt::format("host=127.0.0.1 port={} user=postgres", proxy_.port()));
    EXPECT_TRUE(test::comes_true([this] { return PooledClient(url()).connected(); }))
        << pooler_.log();
    PostgresOptions options;
    options.url = url();
    auto opened = open_postgres(std::move(options));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (opened) store_ = std::move(*opened);
  }
  std::string url() const { return pooler_.url(database_.name()); }

  const test::PooledDatabase database_{test::PostgresServer::shared()};
  test::TcpProxy proxy_{test::PostgresServer::shared().port()};
  PgBouncer pooler_;
  std::unique_ptr<Store> store_;
};

// The whole message of the server: a pooler forwards the beginning of one.
const std::string kCommitted(
    "C\0\0\0\x0b"
    "COMMIT\0",
    12);

TEST_F(PoolerLosesServer, ACommitIsInDoubt) {
  const auto consumer = store_->attach({"payments", "recipe", false, {}}).value();
  auto& runs = *store_->facets().runs;
  const auto lost = proxy_.inject({.heard = test::TcpProxy::Side::kServer,
                                   .text = kCommitted,
                                   .then = test::TcpProxy::Then::kLose});
  const auto begun = runs.begin(consumer, 1);
  ASSERT_EQ(proxy_.fired(lost), 1U);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().kind, ErrorKind::kInDoubt) << begun.error().message;
  EXPECT_NE(begun.error().message.find("08P01"), std::string::npos) << begun.error().message;
  EXPECT_TRUE(runs.begin(consumer, 1)) << "by another session";
}

}  // namespace
}  // namespace semel::conformance
