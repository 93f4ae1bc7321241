// RedisServer: Debian's Redis. A database of it is a prefix of names: new_database() gives one.
#pragma once

#include "tests/support/database_server.h"

namespace semel::test {

class RedisServer final : public DatabaseServer {
 public:
  struct Options {
    // In command-line form: "--maxmemory=8mb". Without any, the server is as durable as it can be.
    std::vector<std::string> arguments;
    bool keep_pristine = false;
  };
  // Written data survive kill(), but would not survive a crash of the machine.
  static Options fast();

  // For tests that do not change the server. It is started with fast().
  static const RedisServer& shared();

  RedisServer() : RedisServer(Options{}) {}
  explicit RedisServer(Options options);
  ~RedisServer() override { end(); }

  // redis://127.0.0.1:PORT/0: without a password.
  std::string url(std::string_view database = {}) const override;
  const std::string& socket() const noexcept { return address().socket; }
  // Runs one command whose words are separated by spaces.
  std::string query(const std::string& database, const std::string& command) const override;
  std::string query(const std::string& command) const { return query({}, command); }
  // Runs one command whose words may contain any bytes.
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

// Settings for a server that also accepts TLS. PEM files.
struct RedisTls {
  int port = 0;
  std::string certificate, key;
  std::string trusted;        // signed the certificates of others
  bool asks_clients = false;  // for one
};
void add_tls(std::vector<std::string>& arguments, const RedisTls& tls);

// Runs one command at the server on that port of 127.0.0.1; an answer of several parts has "\n"
// between them. Failures throw std::runtime_error.
std::string redis_command(int port, const std::vector<std::string>& words);

}  // namespace semel::test
