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

// What fails throws std::runtime_error, with the end of the server's log where that helps. Methods
// that are const may be called from any thread.
class DatabaseServer {
 public:
  // Stops what it started and removes its data; from a shared one it drops its databases.
  virtual ~DatabaseServer();
  DatabaseServer(const DatabaseServer&) = delete;
  DatabaseServer& operator=(const DatabaseServer&) = delete;

  // Of 127.0.0.1, and the same after start().
  int port() const noexcept { return address_.port; }
  pid_t pid() const noexcept { return address_.pid; }
  const ServerAddress& address() const noexcept { return address_; }
  virtual std::string url(std::string_view database) const = 0;

  // The name of a database that was not there before.
  std::string new_database() const;
  // Runs SQL on a connection of its own. In the answer fields stand with a "|" between them and
  // rows with a "\n".
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

  // SIGKILL to all of its processes at once. What they had written stays, as when the system lives
  // on. Returns when they are gone.
  void kill();
  // As its administrator would: what is open is undone, what is committed is written.
  void stop();
  // Again, on its data and its port. Returns when it answers.
  void start();
  bool running() const;

  // To be told where a test fails.
  std::string log_tail() const;

 protected:
  // One that is not started: the constructor of what inherits does that by start(). `name`: as in
  // SERVERS. `keep_pristine`: its data as they are before the first start are kept as well, for
  // others to start from.
  DatabaseServer(std::string name, PlainUser user, bool keep_pristine);
  // The one that somebody else started where it was found, else as above.
  DatabaseServer(std::string name, const std::optional<ServerAddress>& found, PlainUser user);
  // The destructor of what inherits calls it.
  void end() noexcept;

  // Somebody else started it.
  bool is_shared() const noexcept { return !folder_; }
  // Its own folder, and in it its data; not of one that somebody else started.
  std::string folder() const { return folder_->path().string(); }
  std::string data() const { return folder_->file("data"); }

  // What it has told since it was last started, by this process.
  std::string log_of_this_start() const;

  // The program that makes data(), and the one that serves it.
  virtual std::vector<std::string> maker() const = 0;
  virtual std::vector<std::string> server() const = 0;
  // What `address().socket` is to be.
  virtual std::string socket_path() const = 0;
  virtual bool answers() const = 0;
  // Where make_statement() and drop_statement() may be said.
  virtual std::string home_database() const = 0;
  virtual std::string make_statement(const std::string& database) const {
    return "CREATE DATABASE " + database;
  }
  // Drops it, whoever is still connected to it, and does not wait long for anybody.
  virtual std::string drop_statement(const std::string& database) const = 0;
  // The signals that stop it, each when the one before did not help.
  virtual std::vector<int> stop_signals() const { return {SIGTERM}; }
  // So that no part of it outlives the test.
  virtual int signal_at_parents_death() const { return SIGKILL; }
  // Takes away what a lost machine would have taken too.
  virtual void after_kill() {}

 private:
  ServerCommand command(std::vector<std::string> arguments) const;
  void make_data();
  void give_to_user(const std::string& path) const;
  // False where it ended before it answered, or somebody has one of its ports.
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
