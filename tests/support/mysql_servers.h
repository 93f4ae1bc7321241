// MariaDbServer: Debian's MariaDB. MySqlServer: the MySQL 8 that tests/support/fetch_mysql8 brings,
// or the one that SEMEL_TEST_MYSQL_DSN names.
#pragma once

#include <memory>

#include "tests/support/database_server.h"

namespace semel::test {

// What tests of one dialect need of either.
class MySqlFamilyServer : public DatabaseServer {
 public:
  struct Options {
    // As on the command line: "--innodb-lock-wait-timeout=1". Without any it is as durable as
    // it can be.
    std::vector<std::string> arguments;
    bool keep_pristine = false;
  };
  // What was committed outlives kill(), and would not outlive the machine.
  static Options fast();

  // mysql://root@127.0.0.1:PORT/database: of a user who may do everything and has no password.
  std::string url(std::string_view database) const override;
  const std::string& socket() const noexcept { return address().socket; }
  std::unique_ptr<Session> open_session(const std::string& database) const override;
  // How many sessions of this database wait for another's row.
  int lock_waiters(const std::string& database) const;

 protected:
  MySqlFamilyServer(std::string name, PlainUser user, Options options);
  MySqlFamilyServer(std::string name, const std::optional<ServerAddress>& found, PlainUser user);

  // What both are started with, and what they were asked for.
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
  // For tests that leave it as it is. It is a fast one.
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
  // Why there is none; nothing where there is one. Tests that need it are then not to be there
  // either: that one is missing stands among the tests, as servers.mysql8.absent.
  static std::optional<std::string> why_absent();

  // For tests that leave it as it is. It is a fast one, or the one that SEMEL_TEST_MYSQL_DSN names.
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

// MariaDB's, and MySQL's where there is one: what tests of both go through.
using SharedMySqlServer = const MySqlFamilyServer& (*)();
std::vector<SharedMySqlServer> shared_mysql_servers();

}  // namespace semel::test
