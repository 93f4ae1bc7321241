// MySqlCaller: the caller's own connection to a server of MySQL's family, as a program has it that
// knows nothing of us.
#pragma once

#include <mysql.h>

#include <memory>
#include <string>

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
  Result<std::unique_ptr<Store>> borrow() override { return borrow(true); }
  Result<std::unique_ptr<Store>> borrow(bool create_tables) {
    MySqlBorrow options;
    options.create_tables = create_tables;
    return borrow_mysql(connection_, options);
  }
  // The server's number for why it said no; zero: it did not.
  unsigned refused(const std::string& sql);
  MYSQL* handle() noexcept { return connection_; }

 private:
  MYSQL* connection_;
};

}  // namespace semel::conformance
