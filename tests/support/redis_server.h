// RedisServer: Debian's Redis. A database of it is a prefix of names: new_database() gives one.
#pragma once

#include "tests/support/database_server.h"

namespace semel::test {

class RedisServer final : public DatabaseServer {
 public:
  struct Options {
    // As on the command line: "--maxmemory=8mb". Without any it is as durable as Redis can be.
    std::vector<std::string> arguments;
    bool keep_pristine = false;
  };
  // What was written outlives kill(), and would not outlive the machine.
  static Options fast();

  // For tests that leave it as it is. It is a fast one.
  static const RedisServer& shared();

  RedisServer() : RedisServer(Options{}) {}
  explicit RedisServer(Options options);
  ~RedisServer() override { end(); }

  // redis://127.0.0.1:PORT/0: without a password.
  std::string url(std::string_view database = {}) const override;
  const std::string& socket() const noexcept { return address().socket; }
  // One command, its words with spaces between them.
  std::string query(const std::string& database, const std::string& command) const override;
  std::string query(const std::string& command) const { return query({}, command); }
  // One whose words hold any bytes.
  std::string run(const std::vector<std::string>& words) const;

 private:
  explicit RedisServer(const std::optional<ServerAddress>& found);

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  std::string socket_path() const override { return folder() + "/socket"; }
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string make_statement(const std::string&) const override { return "PING"; }
  std::string drop_statement(const std::string& database) const override;

  Options options_;
};

// How a server is asked by TLS too. PEM files.
struct RedisTls {
  int port = 0;
  std::string certificate, key;
  std::string trusted;        // signed the certificates of others
  bool asks_clients = false;  // for one
};
void add_tls(std::vector<std::string>& arguments, const RedisTls& tls);

// One command at the server of that port of 127.0.0.1; an answer of several parts has "\n" between
// them. What fails throws std::runtime_error.
std::string redis_command(int port, const std::vector<std::string>& words);

}  // namespace semel::test
