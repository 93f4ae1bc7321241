// Tests the servers of the tests: one that loses rows, or leaves processes behind, would prove
// nothing.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "system/descriptor.h"
#include "tests/support/child_process.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"
#include "tests/support/rabbitmq_server.h"
#include "tests/support/server_address.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"

namespace semel::test {
namespace {

// True also if the process was not reaped yet.
bool has_ended(pid_t pid, int patience_ms = 0) {
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (watch < 0) return true;
  pollfd end{watch, POLLIN, 0};
  const bool ended = ::poll(&end, 1, patience_ms) == 1;
  ::close(watch);
  return ended;
}

bool ends(pid_t pid) { return has_ended(pid, 20'000); }

// A server is made in it.
constexpr std::chrono::seconds kKeeperPatience{120};

TEST(FreePortTest, IsGivenOnceByAllProcessesThatLive) {
  constexpr int kPorts = 400;
  std::set<int> given{free_port()};
  auto child = ChildProcess::fork([](ChildProcess::Voice& voice) -> int {
    for (int i = 0; i < kPorts; ++i) voice.say(std::to_string(free_port()));
    ChildProcess::Voice::wait_for_death();
  });
  for (int i = 0; i < kPorts; ++i) {
    const auto said = child.line();
    ASSERT_TRUE(said.has_value());
    given.insert(std::stoi(*said));
    given.insert(free_port());
  }
  EXPECT_EQ(given.size(), 2 * kPorts + 1U);
}

TEST(ServerProcessTest, EndsWithTheTestThatIsKilled) {
  auto child = ChildProcess::fork([](ChildProcess::Voice& voice) -> int {
    // Started on a thread that ends earlier: the process decides, not the thread.
    std::optional<PostgresServer> server;
    std::thread([&] { server.emplace(); }).join();
    voice.say(std::to_string(server->pid()));
    voice.say(server->socket_dir());
    ChildProcess::Voice::wait_for_death();
  });
  const auto pid = child.line(kKeeperPatience);
  ASSERT_TRUE(pid.has_value());
  EXPECT_EQ(::kill(std::stoi(*pid), 0), 0);
  const auto folder = child.line();
  child.kill();
  EXPECT_TRUE(ends(std::stoi(*pid)));
  std::filesystem::remove_all(folder.value());
}

TEST(ServerKeeperTest, StopsTheServerWhenCtestIsGone) {
  const TempDir folder;
  const std::string script = "\"$KEEPER\" up postgres \"$FOLDER\" && cat \"$FOLDER/postgres.$$\"";
  auto ctest = ChildProcess::run({"/bin/sh", "-c", script}, {"KEEPER=" SEMEL_TEST_SERVER_KEEPER,
                                                             "FOLDER=" + folder.path().string()});
  std::map<std::string, std::string> said;
  while (const auto line = ctest.line(kKeeperPatience)) {
    const auto at = line->find('=');
    said[line->substr(0, at)] = line->substr(at + 1);
  }
  EXPECT_EQ(ctest.wait()->code, 0);
  EXPECT_TRUE(ends(std::stoi(said.at("pid"))));
  EXPECT_TRUE(ends(std::stoi(said.at("keeper"))));
  EXPECT_FALSE(std::filesystem::exists(said.at("socket")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A kind of server.
struct Kind {
  std::string name;
  const DatabaseServer& (*shared)();
  std::unique_ptr<DatabaseServer> (*own)();
};

template <class Server>
Kind kind(std::string name) {
  return {
      std::move(name), []() -> const DatabaseServer& { return Server::shared(); },
      []() -> std::unique_ptr<DatabaseServer> { return std::make_unique<Server>(Server::fast()); }};
}

// Without a MySQL 8, the test servers.mysql8.absent shows that.
std::vector<Kind> kinds() {
  std::vector<Kind> all = {kind<PostgresServer>("Postgres"), kind<MariaDbServer>("MariaDb")};
  if (!MySqlServer::why_absent()) all.push_back(kind<MySqlServer>("MySql8"));
  return all;
}

class DatabaseServerTest : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Each, DatabaseServerTest, testing::ValuesIn(kinds()),
                         [](const auto& named) { return named.param.name; });

TEST_P(DatabaseServerTest, TheSharedOneHasADatabaseForEachTest) {
  const auto& server = GetParam().shared();
  const std::string one = server.new_database();
  const std::string other = server.new_database();
  server.query(one, "CREATE TABLE t (a int, b text)");
  server.query(one, "INSERT INTO t VALUES (1, 'x'), (2, 'y')");
  EXPECT_EQ(server.query(one, "SELECT * FROM t ORDER BY a"), "1|x\n2|y");
  EXPECT_EQ(server.query(one, "SELECT 1; SELECT 2"), "2");
  EXPECT_THROW(server.query(other, "SELECT * FROM t"), std::runtime_error);
}

TEST_P(DatabaseServerTest, WhatWasCommittedOutlivesAKill) {
  const auto server = GetParam().own();
  const std::string database = server->new_database();
  const int port = server->port();
  server->query(database, "CREATE TABLE t (a int)");
  server->query(database, "INSERT INTO t VALUES (1)");
  const pid_t killed = server->pid();
  server->kill();
  EXPECT_FALSE(server->running());
  EXPECT_TRUE(has_ended(killed));
  EXPECT_THROW(server->query(database, "SELECT 1"), std::runtime_error);

  server->start();
  EXPECT_EQ(server->port(), port);
  EXPECT_NE(server->pid(), killed);
  EXPECT_EQ(server->query(database, "SELECT a FROM t"), "1");
  server->stop();
  EXPECT_FALSE(server->running());
  server->start();
  EXPECT_EQ(server->query(database, "SELECT a FROM t"), "1");
}

TEST(SharedServerTest, IsFoundByATestAndLeftAsItWas) {
  auto options = PostgresServer::fast();
  options.settings.emplace_back("log_statement=ddl");
  const PostgresServer server(options);
  const TempDir folder;
  const std::string place = folder.path().string();
  write_shared_server(shared_server_file(place, "postgres", ::getpid()), server.address(), 0);
  auto test = ChildProcess::run(
      {"/usr/bin/env", "-u", "GTEST_TOTAL_SHARDS", "-u", "GTEST_SHARD_INDEX",
       "SEMEL_TEST_SERVERS=" + place, std::filesystem::read_symlink("/proc/self/exe").string(),
       "--gtest_filter=Each/DatabaseServerTest.TheSharedOneHas*/Postgres"});
  EXPECT_EQ(test.wait()->code, 0);
  EXPECT_NE(server.log_tail().find("CREATE DATABASE test_"), std::string::npos);
  EXPECT_EQ(server.query("postgres", "SELECT datname FROM pg_database ORDER BY 1"),
            "postgres\ntemplate0\ntemplate1");
}

TEST(PostgresServerTest, IsKilledWithItsBackends) {
  PostgresServer server(PostgresServer::fast());
  PGconn* busy = PQconnectdb(server.url("postgres").c_str());
  ASSERT_EQ(PQsendQuery(busy, "SELECT count(*) FROM generate_series(1, 1000000000)"), 1);
  std::istringstream backends(server.query("postgres", "SELECT pid FROM pg_stat_activity"));
  server.kill();
  int count = 0;
  for (pid_t pid = 0; backends >> pid; ++count) EXPECT_TRUE(has_ended(pid)) << pid;
  EXPECT_GT(count, 2);
  PQfinish(busy);
}

TEST(PostgresServerTest, TakesSettings) {
  const PostgresServer server({.settings = {"max_connections=7", "fsync=off"}});
  EXPECT_EQ(server.query("postgres", "SHOW max_connections"), "7");
  try {
    const PostgresServer wrong({.settings = {"max_connections=many"}});
    FAIL() << "it started";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("max_connections"), std::string::npos) << e.what();
  }
}

// This broker runs even without the port.
TEST(RabbitmqServerTest, StartsAgainUntilItHasAllOfItsPorts) {
  const TlsIdentity identity("DNS:localhost");
  RabbitmqServer server(
      {.terms = {}, .certificate = identity.certificate(), .key = identity.private_key()});
  server.kill();
  auto taken = listener_at(server.tls_port());
  ASSERT_TRUE(taken.valid());
  std::thread other([&] {
    while (read_file(server.address().log).find("eaddrinuse") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    taken.close();
  });
  server.start();
  other.join();
  const auto address = loopback(server.tls_port());
  const system::Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
}

TEST(MariaDbServerTest, TakesArguments) {
  const MariaDbServer server({.arguments = {"--innodb-lock-wait-timeout=7"}});
  EXPECT_EQ(server.query("mysql", "SELECT @@innodb_lock_wait_timeout"), "7");
}

}  // namespace
}  // namespace semel::test
