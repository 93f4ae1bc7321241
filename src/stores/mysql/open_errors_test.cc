// The errors of a store that cannot be opened.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/admin/records.h>
#include <semel/mysql.h>
#include <semel/spi/run_markers.h>

#include <string>
#include <vector>

#include "tests/support/mysql_servers.h"

namespace semel {
namespace {

const test::MySqlFamilyServer& server() { return test::MariaDbServer::shared(); }

Error open_error(const std::string& url, bool create = true) {
  MySqlOptions options;
  options.url = url;
  options.create = create;
  const auto store = open_mysql(std::move(options));
  EXPECT_FALSE(store.has_value()) << url;
  return store ? Error{} : store.error();
}

std::string as(const std::string& account, const std::string& database) {
  return fmt::format("mysql://{}@127.0.0.1:{}/{}", account, server().port(), database);
}

// A user with the rights in `grant`, in a database of its own.
struct GrantedUser {
  explicit GrantedUser(const std::string& grant)
      : database(server().new_database()), user(database + "_u") {
    server().query(database, fmt::format("CREATE USER '{}'@'%' IDENTIFIED BY 'right'", user));
    server().query(database, fmt::format("GRANT {} ON {}.* TO '{}'@'%'", grant, database, user));
  }
  ~GrantedUser() { server().query("mysql", fmt::format("DROP USER '{}'@'%'", user)); }
  GrantedUser(const GrantedUser&) = delete;
  GrantedUser& operator=(const GrantedUser&) = delete;
  std::string url(const std::string& password = "right") const {
    return as(user + ":" + password, database);
  }

  std::string database;
  std::string user;
};

TEST(MySqlOpen, ARefusedLoginSaysSo) {
  const GrantedUser place("ALL");
  const Error error = open_error(place.url("wrong"));
  EXPECT_EQ(error.code, "R251") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error.message.find("wrong"), std::string::npos) << "no word of the password";
}

TEST(MySqlOpen, ADatabaseThatIsNotThere) {
  EXPECT_EQ(open_error(as("root", "nowhere")).code, "R252");
}

TEST(MySqlOpen, AServerThatIsNotThere) {
  const Error error = open_error("mysql://root@127.0.0.1:1/test");
  EXPECT_EQ(error.code, "R250") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
}

TEST(MySqlOpen, TablesThatAreNotThere) {
  const GrantedUser place("ALL");
  const Error error = open_error(place.url(), false);
  EXPECT_EQ(error.code, "R207") << error.message;
  EXPECT_NE(error.hint.find("semel store init"), std::string::npos);
}

TEST(MySqlOpen, AUserWhoMayOnlyWorkNeedsTheTablesMade) {
  const GrantedUser place("SELECT, INSERT, UPDATE, DELETE");
  EXPECT_EQ(open_error(place.url()).code, "R253");
  MySqlOptions owner;
  owner.url = as("root", place.database);
  ASSERT_TRUE(open_mysql(owner).has_value());
  MySqlOptions worker;
  worker.url = place.url();
  const auto store = open_mysql(worker);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE((*store)->attach({"payments", "recipe", false, {}}).has_value())
      << "it makes no table";
}

TEST(MySqlOpen, ANewerSchemaIsLeftAlone) {
  const GrantedUser place("ALL");
  MySqlOptions options;
  options.url = place.url();
  ASSERT_TRUE(open_mysql(options).has_value());
  server().query(place.database, "UPDATE semel_schema SET version = 99");
  EXPECT_EQ(open_error(place.url()).code, "R210");
  EXPECT_EQ(open_error(place.url(), false).code, "R210");
}

TEST(MySqlOpen, BySocketToo) {
  const std::string database = server().new_database();
  MySqlOptions options;
  options.url = fmt::format("mysql://root@localhost/{}?socket={}", database, server().socket());
  const auto store = open_mysql(options);
  EXPECT_TRUE(store.has_value()) << store.error().message;
}

class MySqlUsers : public testing::TestWithParam<test::SharedMySqlServer> {};

// Some servers let only administrators set some of a session's settings.
TEST_P(MySqlUsers, NeedNoRightBeyondTheirDatabase) {
  const test::MySqlFamilyServer& its = GetParam()();
  const std::string database = its.new_database();
  its.query(database, "CREATE USER IF NOT EXISTS 'plain'@'%' IDENTIFIED BY 'it''s \"plain\"'");
  its.query(database, fmt::format("GRANT ALL ON {}.* TO 'plain'@'%'", database));
  MySqlOptions options;
  options.url =
      fmt::format("mysql://plain:it%27s%20%22plain%22@127.0.0.1:{}/{}", its.port(), database);
  const auto store = open_mysql(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE((*store)->attach({"payments", "recipe", false, {}}).has_value());
  EXPECT_TRUE((*store)->purge(std::chrono::seconds(1)).has_value());
  EXPECT_TRUE((*store)->facets().records->stats().has_value());
  EXPECT_TRUE((*store)->facets().runs->sweep().has_value());
}

INSTANTIATE_TEST_SUITE_P(MySql, MySqlUsers, testing::ValuesIn(test::shared_mysql_servers()));

TEST(MySqlOpen, WithoutCertificateNoOneIsVerified) {
  const std::string database = server().new_database();
  EXPECT_EQ(open_error(as("root", database) + "?tls=verify").code, "R250");
}

}  // namespace
}  // namespace semel
