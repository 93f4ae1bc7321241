// MariaDbServer: Debian's MariaDB. MySqlServer: the MySQL 8 that tests/support/fetch_mysql8
// installs, or the one named by SEMEL_TEST_MYSQL_DSN.
#pragma once

#include <memory>

#include "tests/support/database_server.h"

namespace semel::test {

// The members that tests of the SQL dialect need of either.
class MySqlFamilyServer : public DatabaseServer {
 public:
  struct Options {
    // In command-line form: "--innodb-lock-wait-timeout=1". Without any, the server is as durable
    // as it can be.
    std::vector<std::string> arguments;
    bool keep_pristine = false;
  };
  // Committed data survive kill(), but would not survive a crash of the machine.
  static Options fast();

  // mysql://root@127.0.0.1:PORT/database: for a user with all rights and without a password.
  std::string url(std::string_view database) const override;
  const std::string& socket() const noexcept { return address().socket; }
  std::unique_ptr<Session> open_session(const std::string& database) const override;
  // How many sessions of this database wait for another's row.
  int lock_waiters(const std::string& database) const;

 protected:
  MySqlFamilyServer(std::string name, PlainUser user, Options options);
  MySqlFamilyServer(std::string name, const std::optional<ServerAddress>& found, PlainUser user);

  // The arguments of both servers, followed by those of the options.
  std::vector<std::string> arguments() const;
  std::string socket_path() const override { return folder() + "/socket"; }
  bool answers() const override;
  std::string home_database() const override { return "mysql"; }
  std::string drop_statement(const std::string& database) const override {
    return "SET lock_wait_timeout = 5; DROP DATABASE " + database;
  }

 private:
  Options options_;
};

class MariaDbServer final : public MySqlFamilyServer {
 public:
  // For tests that do not change the server. It is started with fast().
  static const MariaDbServer& shared();

  MariaDbServer() : MariaDbServer(Options{}) {}
  explicit MariaDbServer(Options options);
  ~MariaDbServer() override { end(); }

 private:
  explicit MariaDbServer(const std::optional<ServerAddress>& found);
  std::vector<std::string> maker() const override;
  std::vector<std::string> server() const override;
};

class MySqlServer final : public MySqlFamilyServer {
 public:
  // Why there is no MySQL 8; nothing if there is one. Without it the tests that need it do not
  // exist; instead, a test named servers.mysql8.absent shows that it is missing.
  static std::optional<std::string> why_absent();

  // For tests that do not change the server. It is started with fast(), or named by
  // SEMEL_TEST_MYSQL_DSN.
  static const MySqlServer& shared();

  MySqlServer() : MySqlServer(Options{}) {}
  explicit MySqlServer(Options options);
  ~MySqlServer() override { end(); }

  std::string url(std::string_view database) const override;

 private:
  explicit MySqlServer(const std::optional<ServerAddress>& found);
  std::vector<std::string> maker() const override;
  std::vector<std::string> server() const override;
};

// MariaDB, and MySQL if available: the servers that common tests run on.
using SharedMySqlServer = const MySqlFamilyServer& (*)();
std::vector<SharedMySqlServer> shared_mysql_servers();

}  // namespace semel::test
