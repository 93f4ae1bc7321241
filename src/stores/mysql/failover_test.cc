// A primary that becomes a replica and stays up: its sessions live on, and new ones reach the
// server that took over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>

#include <memory>
#include <ostream>

#include "stores/mysql/instance_lock.h"
#include "stores/mysql/url.h"
#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/waiting.h"

namespace semel::mysql {
namespace {

struct OwnServer {
  const char* name;
  const test::MySqlFamilyServer& (*server)();
};
std::ostream& operator<<(std::ostream& out, const OwnServer& server) { return out << server.name; }

// Their own ones: these tests change them.
std::vector<OwnServer> own_servers() {
  std::vector<OwnServer> all = {{"mariadb", []() -> const test::MySqlFamilyServer& {
                                   static const test::MariaDbServer server(
                                       test::MariaDbServer::fast());
                                   return server;
                                 }}};
  // Where it is missing, the test servers.mysql8.absent reports that.
  if (!test::MySqlServer::why_absent()) {
    all.push_back({"mysql8", []() -> const test::MySqlFamilyServer& {
                     static const test::MySqlServer server(test::MySqlServer::fast());
                     return server;
                   }});
  }
  return all;
}

class MySqlFailover : public testing::TestWithParam<OwnServer> {
 protected:
  MySqlFailover() {
    sql(fmt::format("CREATE USER {}", user_));
    sql(fmt::format("GRANT ALL ON {}.* TO {}", database_, user_));
    MySqlOptions options;
    options.url = server_.url(database_);
    options.url.replace(options.url.find("root"), std::string_view("root").size(), user_);
    endpoint_.target = target_of(options.url);
    store_ = open_mysql(options).value();
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
  }
  ~MySqlFailover() override {
    sql("SET GLOBAL read_only = 0");
    store_.reset();
    sql(fmt::format("DROP USER {}", user_));
  }

  std::string sql(const std::string& text) const { return server_.query(database_, text); }
  int epoch() const { return std::stoi(sql("SELECT epoch FROM semel_meta")); }
  void demote() const { sql("SET GLOBAL read_only = 1"); }
  // New sessions may write all the same, as if they reached another server: a session keeps these
  // global rights as its user had them when it began.
  void let_new_sessions_write() const {
    const bool mariadb = sql("SELECT VERSION()").find("MariaDB") != std::string::npos;
    sql(fmt::format("GRANT {} ON *.* TO {}", mariadb ? "READ_ONLY ADMIN" : "SUPER", user_));
  }
  // Empty where the claim succeeded.
  std::string refusal() {
    const Message message = test::make_message(consumer_, fmt::format("k{}", ++keys_));
    const Message* const one = &message;
    const auto claims = store_->claim({&one, 1}, {});
    return claims ? "" : claims.error().code;
  }
  std::string sessions(const std::string& which) const {
    return sql(
        fmt::format("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{}' AND {}",
                    user_, which));
  }
  std::string last_session() const {
    return sql("SELECT MAX(id) FROM information_schema.processlist");
  }

  const test::MySqlFamilyServer& server_ = GetParam().server();
  const std::string database_ = server_.new_database();
  const std::string user_ = "f_" + database_;
  Endpoint endpoint_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
  int keys_ = 0;
};

TEST_P(MySqlFailover, SessionsAtADemotedServerAreReplaced) {
  ASSERT_EQ(refusal(), "");
  const int before = epoch();
  demote();
  ASSERT_EQ(refusal(), "R203");
  let_new_sessions_write();
  std::string code = "R203";
  EXPECT_TRUE(test::comes_true([&] { return (code = refusal()) != "R203"; }));
  EXPECT_EQ(code, "");
  EXPECT_GT(epoch(), before) << "tokens would repeat";
}

TEST_P(MySqlFailover, AServerThatOnlyReadsForGoodIsAskedAgainUntilItWrites) {
  ASSERT_EQ(refusal(), "");
  const std::string before = last_session();
  demote();
  ASSERT_TRUE(test::comes_true([&] {
    EXPECT_EQ(refusal(), "R203");
    return sessions("id <= " + before) == "0";
  }));
  const std::string after = last_session();
  ASSERT_TRUE(test::comes_true([&] {
    EXPECT_EQ(refusal(), "R203");
    return sessions("id > " + after) != "0";
  })) << "also by a session that never wrote";
  sql("SET GLOBAL read_only = 0");
  EXPECT_EQ(refusal(), "");
}

// The new session is at the server that took over, and our own is still at the old one.
TEST_P(MySqlFailover, TheEpochGrowsBeforeANewSessionClaims) {
  const Dialect dialect;
  InstanceLock first(endpoint_, dialect, std::chrono::milliseconds(0));
  const std::int64_t number = first.number_for(*std::make_unique<Connection>(endpoint_));
  const int before = epoch();
  demote();
  let_new_sessions_write();
  Connection looking(endpoint_);
  ASSERT_TRUE(test::comes_true([&] {
    try {
      return first.number_for(looking) == number;
    } catch (const semel::sql::Failure& failed) {
      EXPECT_EQ(failed.error().code, "R203");
      return false;
    }
  }));
  EXPECT_GT(epoch(), before);
}

TEST_P(MySqlFailover, ALookThatWritesSaysNothingOfItsServer) {
  Connection connection(endpoint_);
  const std::string write = "INSERT INTO semel_number VALUES (NULL)";
  connection.begin_look();
  EXPECT_THROW(connection.ask(write), semel::sql::Failure);
  connection.roll_back();
  EXPECT_FALSE(connection.refuses_writes());
  demote();
  EXPECT_THROW(connection.ask(write), semel::sql::Failure);
  EXPECT_TRUE(connection.refuses_writes());
}

INSTANTIATE_TEST_SUITE_P(Servers, MySqlFailover, testing::ValuesIn(own_servers()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace semel::mysql
