// Opening a connection: timeouts, and the settings of a session.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>

#include <chrono>
#include <future>
#include <memory>

#include "stores/mysql/connection.h"
#include "stores/mysql/instance_lock.h"
#include "stores/mysql/schema.h"
#include "stores/mysql/url.h"
#include "system/event_fd.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/tcp_proxy.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;
using test::MariaDbServer;
using test::MySqlFamilyServer;
using test::TcpProxy;

// Before the first statement of a session.
constexpr const char* kSetUp = "SET SESSION sql_mode";

class MySqlConnect : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  Target through_proxy(unsigned timeout) const {
    Target target = target_of(server_.url(database_));
    target.port = static_cast<unsigned>(proxy_.port());
    target.connect_timeout = timeout;
    return target;
  }
  // The proxy sends nothing after `text`, on any connection.
  TcpProxy::FaultId silence(const std::string& text) {
    return proxy_.inject({.text = text, .then = TcpProxy::Then::kStall, .times = 1'000});
  }
  static Error connect_error(const Target& target,
                             const system::Deadline::Stops& stops = system::Deadline::kNoStops) {
    try {
      const Wire wire(target, stops);
    } catch (const sql::Failure& failed) {
      return failed.error();
    }
    ADD_FAILURE() << "it connected";
    return {};
  }

  const MySqlFamilyServer& server_ = GetParam()();
  const std::string database_ = server_.new_database();
  TcpProxy proxy_{server_.port()};
};

TEST_P(MySqlConnect, AProxyThatGivesNoSessionIsAnErrorInTime) {
  const auto silent = silence(kSetUp);
  const Error error = connect_error(through_proxy(1));
  EXPECT_EQ(error.code, "R254") << error.message;
  EXPECT_EQ(proxy_.fired(silent), 1U);
}

TEST_P(MySqlConnect, AServerThatSaysNothingIsAnErrorInTime) {
  const auto silent = proxy_.inject(
      {.heard = TcpProxy::Side::kServer, .bytes = 1, .then = TcpProxy::Then::kStall, .times = 9});
  EXPECT_EQ(connect_error(through_proxy(1)).code, "R250");
  EXPECT_EQ(proxy_.fired(silent), 1U);
}

TEST_P(MySqlConnect, AStopEndsWhateverItWaitsFor) {
  for (const bool greets : {true, false}) {
    SCOPED_TRACE(greets);
    const auto silent = greets ? silence(kSetUp)
                               : proxy_.inject({.heard = TcpProxy::Side::kServer,
                                                .bytes = 1,
                                                .then = TcpProxy::Then::kStall,
                                                .times = 9});
    system::EventFd stop;
    auto connecting = std::async(std::launch::async, [&] {
      return connect_error(through_proxy(3'000), {stop.get(), -1});
    });
    ASSERT_TRUE(proxy_.wait_fired(silent));
    stop.signal();
    ASSERT_EQ(connecting.wait_for(60s), std::future_status::ready);
    EXPECT_EQ(connecting.get().kind, ErrorKind::kUnavailable);
    proxy_.clear();
  }
}

// Every claim of a process asks for its number first.
TEST_P(MySqlConnect, ASilentProxyHangsNobodyWhoAsksForTheNumber) {
  Endpoint endpoint;
  endpoint.target = through_proxy(1);
  {
    Wire wire(endpoint.target);
    make_schema(wire);
  }
  const Dialect dialect;
  InstanceLock instance_lock(endpoint, dialect, 0ms, 9);
  const auto silent = silence(kSetUp);
  std::vector<std::future<Error>> asking;
  for (int i = 0; i < 4; ++i) {
    asking.push_back(std::async(std::launch::async, [&] {
      try {
        instance_lock.number();
      } catch (const sql::Failure& failed) {
        return failed.error();
      }
      return Error{};
    }));
  }
  for (auto& one : asking) {
    ASSERT_EQ(one.wait_for(60s), std::future_status::ready);
    const Error error = one.get();
    EXPECT_EQ(error.code, "R254") << error.message;
    EXPECT_NE(error.message.find("wants 9"), std::string::npos) << error.message;
  }
  EXPECT_GE(proxy_.fired(silent), 1U);
  EXPECT_LT(proxy_.fired(silent), 4U) << "one tries for all that wait";
  proxy_.clear();
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::int64_t number = 0;
  while (number == 0 && std::chrono::steady_clock::now() < end) {
    try {
      number = instance_lock.number();
    } catch (const sql::Failure&) {
      continue;
    }
  }
  EXPECT_GT(number, 0);
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlConnect, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

MySqlFamilyServer::Options with(std::initializer_list<const char*> arguments) {
  MySqlFamilyServer::Options options = MariaDbServer::fast();
  for (const char* one : arguments) options.arguments.emplace_back(one);
  return options;
}

std::string plain_user(const MySqlFamilyServer& server, const std::string& database) {
  server.query(database, "CREATE USER IF NOT EXISTS 'plain'@'%'");
  server.query(database, fmt::format("GRANT ALL ON {}.* TO 'plain'@'%'", database));
  return fmt::format("mysql://plain@127.0.0.1:{}/{}", server.port(), database);
}

TEST(MySqlSession, TextIsUtf8WhateverTheServerIsSetTo) {
  const MariaDbServer server(
      with({"--character-set-server=latin1", "--init-connect=SET NAMES latin1",
            "--skip-character-set-client-handshake"}));
  const std::string database = server.new_database();
  const std::string url = plain_user(server, database);
  Wire wire(target_of(url));
  wire.send("SELECT @@character_set_client, @@character_set_results, CHAR_LENGTH('\xc3\xa9')");
  Answers answers = wire.run(Loss::kNothingDone);
  ASSERT_FALSE(answers.refused);
  sql::Answer row = answer_of(answers.said.back());
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.bytes(0), "utf8mb4");
  EXPECT_EQ(row.bytes(1), "utf8mb4");
  EXPECT_EQ(row.integer(2), 1);
}

// With a binary log of statements, InnoDB refuses writes at READ COMMITTED.
TEST(MySqlSession, ALogOfStatementsIsMadeOneOfRowsOrNamed) {
  const MariaDbServer server(with({"--log-bin=log", "--binlog-format=STATEMENT"}));
  const std::string database = server.new_database();
  const std::string url = plain_user(server, database);
  MySqlOptions options;
  options.url = url;
  const auto refused = open_mysql(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R269") << refused.error().message;
  EXPECT_NE(refused.error().hint.find("binlog_format"), std::string::npos);
  options.url = server.url(database);
  const auto store = open_mysql(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE((*store)->attach({"payments", "recipe", false, {}}).has_value());
}

}  // namespace
}  // namespace semel::mysql
