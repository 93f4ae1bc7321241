// PostgresServer: the newest PostgreSQL among Debian's.
#pragma once

#include <memory>

#include "tests/support/database_server.h"

namespace semel::test {

class PostgresServer final : public DatabaseServer {
 public:
  struct Options {
    // In the form of postgresql.conf: "max_connections=7". Without any, the server is as durable as
    // it can be.
    std::vector<std::string> settings;
    bool keep_pristine = false;
  };
  // Committed data survive kill(), but would not survive a crash of the machine.
  static Options fast();

  // For tests that do not change the server. It is started with fast().
  static const PostgresServer& shared();

  PostgresServer();
  explicit PostgresServer(const Options& options);
  ~PostgresServer() override { end(); }

  // For a user with all rights and without a password.
  std::string url(std::string_view database) const override;
  // How many sessions of this database wait for another's lock.
  int lock_waiters(const std::string& database) const;
  const std::string& socket_dir() const noexcept { return address().socket; }
  std::unique_ptr<Session> open_session(const std::string& database) const override;

 private:
  explicit PostgresServer(const std::optional<ServerAddress>& found);

  std::vector<std::string> maker() const override;
  std::vector<std::string> server() const override;
  std::string socket_path() const override { return folder(); }
  bool answers() const override;
  std::string home_database() const override { return "postgres"; }
  std::string drop_statement(const std::string& database) const override {
    return "DROP DATABASE " + database + " WITH (FORCE)";
  }
  std::vector<int> stop_signals() const override { return {SIGINT, SIGQUIT}; }
  // Its backends end with it.
  int signal_at_parents_death() const override { return SIGQUIT; }
  void after_kill() override;

  Options options_;
};

}  // namespace semel::test
