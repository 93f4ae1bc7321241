// Tests a pooled database with everything that a test may leave in it: the next test finds none of
// it.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <semel/admin/records.h>
#include <semel/mysql.h>
#include <semel/postgres.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::test {
namespace {

using Statements = std::vector<std::string>;

// A session that stays open, and ends with this.
using OtherSession = std::unique_ptr<void, void (*)(void*)>;

OtherSession postgres_session(const PostgresServer& server, const std::string& database,
                              const Statements& statements) {
  PGconn* const connection = PQconnectdb(server.url(database).c_str());
  for (const std::string& sql : statements) {
    PGresult* const result = PQexec(connection, sql.c_str());
    EXPECT_NE(PQresultStatus(result), PGRES_FATAL_ERROR) << PQresultErrorMessage(result);
    PQclear(result);
  }
  return {connection, [](void* open) { PQfinish(static_cast<PGconn*>(open)); }};
}

OtherSession mysql_session(const MySqlFamilyServer& server, const std::string& database,
                           const Statements& statements) {
  MYSQL* const connection = mysql_init(nullptr);
  EXPECT_NE(mysql_real_connect(connection, "127.0.0.1", "root", "", database.c_str(),
                               static_cast<unsigned>(server.port()), nullptr, 0),
            nullptr)
      << mysql_error(connection);
  for (const std::string& sql : statements) {
    EXPECT_EQ(mysql_real_query(connection, sql.data(), sql.size()), 0) << mysql_error(connection);
  }
  return {connection, [](void* open) { mysql_close(static_cast<MYSQL*>(open)); }};
}

struct PooledKind {
  std::string name;
  const DatabaseServer& (*server)();
  std::unique_ptr<PooledDatabase> (*borrow)();
  std::unique_ptr<Store> (*open)(const std::string& url);
  OtherSession (*session)(const std::string& database, const Statements& statements);
  // Before the name of a table of the store.
  std::string prefix;
};

std::unique_ptr<Store> open_on_postgres(const std::string& url) {
  PostgresOptions options;
  options.url = url;
  return open_postgres(std::move(options)).value();
}

std::unique_ptr<Store> open_on_mysql(const std::string& url) {
  MySqlOptions options;
  options.url = url;
  return open_mysql(std::move(options)).value();
}

template <class Server>
PooledKind mysql_kind(std::string name) {
  return {std::move(name),
          []() -> const DatabaseServer& { return Server::shared(); },
          [] { return std::make_unique<PooledDatabase>(Server::shared()); },
          open_on_mysql,
          [](const std::string& database, const Statements& statements) {
            return mysql_session(Server::shared(), database, statements);
          },
          ""};
}

// Without a MySQL 8, the test servers.mysql8.absent shows that.
std::vector<PooledKind> pooled_kinds() {
  std::vector<PooledKind> all = {
      {"Postgres", []() -> const DatabaseServer& { return PostgresServer::shared(); },
       [] { return std::make_unique<PooledDatabase>(PostgresServer::shared()); }, open_on_postgres,
       [](const std::string& database, const Statements& statements) {
         return postgres_session(PostgresServer::shared(), database, statements);
       },
       "semel."},
      mysql_kind<MariaDbServer>("MariaDb")};
  if (!MySqlServer::why_absent()) all.push_back(mysql_kind<MySqlServer>("MySql8"));
  return all;
}

class PooledDatabaseTest : public testing::TestWithParam<PooledKind> {
 protected:
  static std::unique_ptr<PooledDatabase> borrow() { return GetParam().borrow(); }
  static std::string query(const PooledDatabase& database, const std::string& sql) {
    return GetParam().server().query(database.name(), sql);
  }
  static std::string table(const std::string& name) { return GetParam().prefix + name; }
  static OtherSession session(const PooledDatabase& database, const Statements& statements) {
    return GetParam().session(database.name(), statements);
  }

  // The answers of a store that is the first to work in it: the numbers it draws, the rows it
  // finds.
  static std::vector<std::uint64_t> first_answers(const PooledDatabase& database) {
    const auto store = GetParam().open(database.url());
    const ConsumerNumber consumer =
        store->attach({"payments", "recipe", false, std::chrono::hours(1)}).value();
    const Message message = make_message(consumer, "key", "{}");
    const Message* const one = &message;
    const auto claims = store->claim({&one, 1}, {}).value();
    const auto* const acquired = std::get_if<Acquired>(&claims.front());
    if (acquired == nullptr) return {};
    return {static_cast<std::uint64_t>(consumer), static_cast<std::uint64_t>(acquired->lease.token),
            static_cast<std::uint64_t>(acquired->attempt)};
  }
};
INSTANTIATE_TEST_SUITE_P(Each, PooledDatabaseTest, testing::ValuesIn(pooled_kinds()),
                         [](const auto& named) { return named.param.name; });

TEST_P(PooledDatabaseTest, IsAsNewForTheNextTest) {
  std::string name;
  std::vector<std::uint64_t> in_a_new_one;
  {
    const auto first = borrow();
    name = first->name();
    in_a_new_one = first_answers(*first);
    ASSERT_FALSE(in_a_new_one.empty());
    query(*first, "CREATE TABLE effect (id int PRIMARY KEY)");
    query(*first, "CREATE TABLE part (id int REFERENCES effect (id))");
    query(*first, "CREATE VIEW effects AS SELECT id FROM effect");
    query(*first, "INSERT INTO effect VALUES (1)");
    query(*first, "UPDATE " + table("semel_meta") + " SET epoch = 77");
    query(*first, "DELETE FROM " + table("semel_record"));
    // Undone when its session ends, which is before the database is given back.
    const OtherSession open =
        session(*first, {"BEGIN", "INSERT INTO effect VALUES (2)",
                         "UPDATE " + table("semel_consumer") + " SET ttl = 5"});
  }
  const auto second = borrow();
  EXPECT_EQ(second->name(), name);
  EXPECT_THROW(query(*second, "SELECT * FROM effect"), std::runtime_error);
  EXPECT_THROW(query(*second, "SELECT * FROM effects"), std::runtime_error);
  EXPECT_EQ(query(*second, "SELECT epoch FROM " + table("semel_meta")), "0");
  EXPECT_EQ(query(*second, "SELECT COUNT(*) FROM " + table("semel_consumer")), "0");
  EXPECT_EQ(first_answers(*second), in_a_new_one);
}

TEST_P(PooledDatabaseTest, IsNobodyElsesWhileItIsInUse) {
  const auto one = borrow();
  const auto other = borrow();
  EXPECT_NE(one->name(), other->name());
}

TEST_P(PooledDatabaseTest, IsNotUsedAgainWhileASessionIsOpenInIt) {
  auto used = borrow();
  const std::string name = used->name();
  query(*used, "CREATE TABLE effect (id int PRIMARY KEY)");
  query(*used, "INSERT INTO effect VALUES (1)");
  const OtherSession open = session(*used, {"BEGIN", "UPDATE effect SET id = 2",
                                            "UPDATE " + table("semel_meta") + " SET epoch = 77"});
  used.reset();
  const auto next = borrow();
  EXPECT_NE(next->name(), name);
  EXPECT_EQ(first_answers(*next).size(), 3U);
}

TEST_P(PooledDatabaseTest, IsNotUsedAgainWhenATableOfTheStoreIsAltered) {
  const Statements ways = {"ALTER TABLE " + table("semel_held") + " ADD COLUMN more int",
                           "CREATE INDEX more ON " + table("semel_held") + " (place)",
                           "DROP TABLE " + table("semel_step"),
                           "UPDATE " + table("semel_schema") + " SET version = 99"};
  for (const std::string& way : ways) {
    auto used = borrow();
    const std::string name = used->name();
    query(*used, way);
    used.reset();
    EXPECT_NE(borrow()->name(), name) << way;
  }
}

}  // namespace
}  // namespace semel::test
