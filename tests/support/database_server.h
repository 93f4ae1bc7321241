// DatabaseServer: a real database server for tests, started by the tests themselves and no service
// of the machine.
//
//   const auto& shared = PostgresServer::shared();  // for all that break nothing
//   const std::string url = shared.url(shared.new_database());
//
//   PostgresServer mine;  // to kill and start again
//   mine.kill();
//   mine.start();
//
// ctest starts the shared one for the programs that name it in SERVERS (cmake/SemelServers.cmake),
// and stops it after them. A test run by hand starts its own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/server_address.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

namespace semel::test {

// Failures throw std::runtime_error, with the end of the server's log if that helps. Const methods
// are thread-safe.
class DatabaseServer {
 public:
  // Stops the server that it started and removes its data; from a shared server it drops its
  // databases.
  virtual ~DatabaseServer();
  DatabaseServer(const DatabaseServer&) = delete;
  DatabaseServer& operator=(const DatabaseServer&) = delete;

  // The port on 127.0.0.1; start() does not change it.
  int port() const noexcept { return address_.port; }
  pid_t pid() const noexcept { return address_.pid; }
  const ServerAddress& address() const noexcept { return address_; }
  virtual std::string url(std::string_view database) const = 0;

  // The name of a database that was not there before.
  std::string new_database() const;
  // Runs SQL on a separate connection. The answer separates fields with a vertical bar and rows
  // with a "\n".
  virtual std::string query(const std::string& database, const std::string& sql) const;

  // A connection that stays open: a new one costs the server more than most queries. Not safe for
  // several threads.
  class Session {
   public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;
    // Answers as DatabaseServer::query() does.
    virtual std::string query(const std::string& sql) = 0;
  };
  // Throws std::logic_error where the server knows no SQL.
  virtual std::unique_ptr<Session> open_session(const std::string& database) const;

  // Sends SIGKILL to all of its processes together. Data that they had written remains, as if the
  // system lives on. Returns when they are gone.
  void kill();
  // Stops it as an administrator would: open transactions are rolled back, committed data are
  // written.
  void stop();
  // Again, on its data and its port. Returns when it answers.
  void start();
  bool running() const;

  // The end of the log, for the message of a failed test.
  std::string log_tail() const;

 protected:
  // Does not start the server: the derived class's constructor calls start(). `name`: as in
  // SERVERS. `keep_pristine`: also keeps a copy of the data from before the first start, for other
  // servers to start from.
  DatabaseServer(std::string name, PlainUser user, bool keep_pristine);
  // Uses the server that another process started if there is one, otherwise as above.
  DatabaseServer(std::string name, const std::optional<ServerAddress>& found, PlainUser user);
  // Must be called by the derived class's destructor.
  void end() noexcept;
  // Has its folder, its data and its port then, like one that was killed.
  void be_away();

  // Whether another process started it.
  bool is_shared() const noexcept { return !folder_; }
  // The folder that contains its data; not for a server that another process started.
  std::string folder() const { return folder_->path().string(); }
  std::string data() const { return folder_->file("data"); }

  // The log since this process last started it.
  std::string log_of_this_start() const;

  // The program that creates data(), and the one that serves it.
  virtual std::vector<std::string> maker() const = 0;
  virtual std::vector<std::string> server() const = 0;
  // The value for `address().socket`.
  virtual std::string socket_path() const = 0;
  virtual bool answers() const = 0;
  // The database in which make_statement() and drop_statement() can run.
  virtual std::string home_database() const = 0;
  virtual std::string make_statement(const std::string& database) const {
    return "CREATE DATABASE " + database;
  }
  // Drops the database even if clients are connected to it, and does not wait for them long.
  virtual std::string drop_statement(const std::string& database) const = 0;
  // The signals that stop it, each sent if the one before did not help.
  virtual std::vector<int> stop_signals() const { return {SIGTERM}; }
  // Ensures that no part of it outlives the test.
  virtual int signal_at_parents_death() const { return SIGKILL; }
  // Removes what the loss of a machine would have removed too.
  virtual void after_kill() {}

 private:
  ServerCommand command(std::vector<std::string> arguments) const;
  void make_data();
  void choose_port();
  void give_to_user(const std::string& path) const;
  // False if it ended before it answered, or another program uses one of its ports.
  bool start_once();

  const std::string name_;
  const PlainUser user_;
  const bool keep_pristine_ = false;
  std::optional<TempDir> folder_;
  ServerAddress address_;
  std::size_t told_before_ = 0;
  std::unique_ptr<ServerProcess> process_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> databases_;
};

}  // namespace semel::test
