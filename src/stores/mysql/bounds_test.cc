// Waiting, remembering and counting are bounded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>

#include <filesystem>
#include <variant>

#include "stores/mysql/connection.h"
#include "stores/mysql/handler_statements.h"
#include "stores/mysql/url.h"
#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/server_address.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;

class MySqlBounds : public testing::TestWithParam<test::SharedMySqlServer> {
 protected:
  std::unique_ptr<Store> open() const {
    MySqlOptions options;
    options.url = server_.url(database_);
    auto store = open_mysql(options);
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return *std::move(store);
  }
  static Token token(Store& store, const std::string& key) {
    const ConsumerNumber consumer = store.attach({"payments", "recipe", false, {}}).value();
    const Message message = test::make_message(consumer, key);
    const Message* const one = &message;
    return std::get<Acquired>(store.claim({&one, 1}, {}).value().at(0)).lease.token;
  }

  const test::MySqlFamilyServer& server_ = GetParam()();
  const std::string database_ = server_.new_database();
};

TEST_P(MySqlBounds, WhatGoesAheadOfALargeStatementIsNotWaitedForWithoutEnd) {
  Endpoint endpoint;
  endpoint.target = target_of(server_.url(database_));
  endpoint.longest_answer = 300ms;
  Connection connection(endpoint);
  connection.queue("SELECT SLEEP(40)");
  const auto begun = std::chrono::steady_clock::now();
  const std::string large = fmt::format("SELECT LENGTH('{}')", std::string(1 << 20, 'x'));
  EXPECT_THROW(connection.queue(large), sql::Failure);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s) << "it slept to its end";
  EXPECT_FALSE(connection.whole());
}

// A replica that takes over may lack the numbers that its primary drew last.
TEST_P(MySqlBounds, TokensGrowOverAFailoverThatLostManyNumbers) {
  constexpr int kLost = 500'000;
  const auto before = open();
  token(*before, "first");
  server_.query(database_, fmt::format("ALTER TABLE semel_number AUTO_INCREMENT = {}", kLost));
  const Token last = token(*before, "last");
  server_.query(database_, "ALTER TABLE semel_number AUTO_INCREMENT = 10");
  ASSERT_LT(std::stoi(server_.query(database_,
                                    "INSERT INTO semel_number VALUES (NULL); "
                                    "DELETE FROM semel_number; SELECT LAST_INSERT_ID()")),
            kLost);
  const auto behind = open();
  EXPECT_GT(token(*behind, "behind"), last);
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlBounds, testing::ValuesIn(test::shared_mysql_servers()),
                         [](const auto& server) {
                           return std::string(server.index == 0 ? "mariadb" : "mysql8");
                         });

TEST(MySqlHandlerTexts, KeepNoEndOfThem) {
  HandlerTexts texts;
  for (std::size_t i = 0; i < 3 * HandlerTexts::kMost; ++i) {
    const auto& known = texts.of(*admit_statement(fmt::format("SELECT {}", i)).value());
    EXPECT_EQ(known.parts.front(), fmt::format("SELECT {}", i));
    ASSERT_LE(texts.size(), HandlerTexts::kMost);
  }
}

// All of Galera's servers take writes, and share only rows, not locks.
TEST(MySqlCluster, OfSeveralPrimariesIsRefused) {
  const std::string library = "/usr/lib/galera/libgalera_smm.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not installed";
  test::MySqlFamilyServer::Options options = test::MySqlFamilyServer::fast();
  for (const std::string& argument :
       {std::string("--wsrep-on=ON"), "--wsrep-provider=" + library,
        std::string("--wsrep-cluster-address=gcomm://"), std::string("--binlog-format=ROW"),
        fmt::format("--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{}",
                    test::free_port())}) {
    options.arguments.push_back(argument);
  }
  const test::MariaDbServer server(options);
  MySqlOptions opened;
  opened.url = server.url(server.new_database());
  const auto refused = open_mysql(opened);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R257") << refused.error().message;
  EXPECT_EQ(refused.error().kind, ErrorKind::kRejected);
  EXPECT_NE(refused.error().message.find("wsrep_on"), std::string::npos);
}

}  // namespace
}  // namespace semel::mysql
