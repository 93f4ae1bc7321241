// The process of a server that a test started, and whatever that has started in turn.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace semel::test {

struct ServerCommand {
  std::vector<std::string> arguments;  // the first is the program's path
  std::string folder;                  // where it runs, and its home
  std::string output;                  // the file that its output is appended to
  std::optional<uid_t> user;           // the user that runs it; none: the test's own
  std::optional<gid_t> group;
  int at_parents_death = SIGKILL;  // the signal it gets then
};

// Runs a program to its end: its exit code, or none when a signal ended it.
std::optional<int> run_to_end(const ServerCommand& command);

// Dies with the process that made it, whichever thread of that did. Inherits no descriptor. Its
// methods may be called from any thread.
class ServerProcess {
 public:
  // Fails the process if it cannot fork; a program that cannot be executed ends immediately and
  // writes the cause to `output`.
  explicit ServerProcess(const ServerCommand& command);
  ~ServerProcess();  // kill()
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }
  bool running() const;
  void signal(int number);

  // Waits for its end: false where it took longer.
  bool wait(std::chrono::milliseconds patience);
  // Sends SIGKILL to it and all its descendants. It is stopped before they are looked for, so that
  // it starts no more of them. Returns when all are gone.
  void kill();
  // In the form of waitpid(); none while it runs.
  std::optional<int> status() const;

 private:
  // Forks, and waits for the end, on a separate thread: the death signal is sent when the forking
  // thread ends.
  void live(const ServerCommand& command);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  pid_t pid_ = 0;
  std::optional<int> status_;
  std::thread thread_;
};

}  // namespace semel::test
