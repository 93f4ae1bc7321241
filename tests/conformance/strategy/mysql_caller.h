// MySqlCaller: the caller's own connection to a server of MySQL's family, in a program that is
// independent of Semel. GuardOnMySql: tests with a connection that it lends.
#pragma once

#include <mysql.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <semel/guard.h>
#include <semel/mysql.h>

#include "tests/conformance/strategy/guard_suite.h"
#include "tests/support/mysql_servers.h"

namespace semel::conformance {

class MySqlCaller final : public Caller {
 public:
  // `flags`: of mysql_real_connect.
  MySqlCaller(const test::MySqlFamilyServer& server, const std::string& database,
              unsigned long flags = 0);
  ~MySqlCaller() override { mysql_close(connection_); }

  void run(const std::string& sql) override { ask(sql); }
  std::string ask(const std::string& sql) override;
  void begin(const std::string& isolation) override;
  bool in_transaction() override;
  std::string end_session() override;
  Result<std::unique_ptr<Store>> borrow() override { return borrow(true); }
  Result<std::unique_ptr<Store>> borrow(bool create_tables) {
    MySqlBorrow options;
    options.create_tables = create_tables;
    return borrow_mysql(connection_, options);
  }
  // The server's error number; zero if it accepted the SQL.
  unsigned refused(const std::string& sql);
  MYSQL* handle() noexcept { return connection_; }

 private:
  MYSQL* connection_;
};

struct MySqlServed {
  std::string name;
  const test::MySqlFamilyServer& (*server)();
};
std::ostream& operator<<(std::ostream& out, const MySqlServed& served);
std::vector<MySqlServed> mysql_served();

std::unique_ptr<Store> opened(Result<std::unique_ptr<Store>> store);

class GuardOnMySql : public testing::TestWithParam<MySqlServed> {
 protected:
  GuardOnMySql() {
    run("CREATE TABLE effect (name VARCHAR(200) CHARACTER SET utf8mb4, raw VARBINARY(200))");
    run("CREATE TABLE stock (item INT PRIMARY KEY, amount INT)");
    run("INSERT INTO stock VALUES (1, 10), (2, 10)");
  }

  void run(const std::string& sql) { caller_.run(sql); }
  std::string ask(const std::string& sql) { return caller_.ask(sql); }
  std::string effects() { return other_.ask("SELECT COUNT(*) FROM effect"); }
  std::string records() { return other_.ask("SELECT COUNT(*) FROM semel_record"); }
  std::unique_ptr<Store> borrowed() { return opened(caller_.borrow()); }
  static void expect_r208(const Result<Outcome>& outcome) {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected) << outcome.error().message;
    EXPECT_EQ(outcome.error().code, "R208") << outcome.error().message;
  }

  const test::MySqlFamilyServer& server_ = GetParam().server();
  const std::string database_ = server_.new_database();
  MySqlCaller caller_{server_, database_};
  MySqlCaller other_{server_, database_};
};

}  // namespace semel::conformance
