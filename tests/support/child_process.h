// A real process that a test may kill, stop and count on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::test {

struct ExitStatus {
  std::optional<int> code;    // it ended by itself
  std::optional<int> signal;  // or by this signal
};

// The destructor kills and reaps the child. The child also dies with its parent.
class ChildProcess {
 public:
  // The channel on which the child sends lines to its parent, in order.
  class Voice {
   public:
    explicit Voice(int fd) : fd_(fd) {}
    void say(std::string_view line);
    void ready() { say("ready"); }
    // Waits to be killed.
    [[noreturn]] static void wait_for_death();

   private:
    int fd_;
  };

  // Forks; the child runs `work` and exits with its result. Only for processes with one thread.
  static ChildProcess fork(const std::function<int(Voice& voice)>& work);
  // Runs a program. Its stdout is read as its lines; its stderr is the test's. `environment` is
  // added to the test's own.
  static ChildProcess run(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {});

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  pid_t pid() const noexcept { return pid_; }

  // The child's next line; none if it ended or took too long.
  std::optional<std::string> line(std::chrono::milliseconds patience = std::chrono::seconds(20));
  // True if the child's next line is `ready`.
  bool wait_ready(std::chrono::milliseconds patience = std::chrono::seconds(20));

  void kill();       // SIGKILL
  void terminate();  // SIGTERM
  void stop();       // SIGSTOP; returns when it has stopped
  // Returns when the child has stopped itself with raise(SIGSTOP), at a place of its own choice.
  void wait_stopped();
  void resume();  // SIGCONT

  // Waits for its end; none when it took too long.
  std::optional<ExitStatus> wait(std::chrono::milliseconds patience = std::chrono::seconds(60));

 private:
  ChildProcess(pid_t pid, int voice) noexcept : pid_(pid), voice_(voice) {}

  pid_t pid_;
  int voice_;
  std::string said_;
  std::optional<ExitStatus> ended_;
};

}  // namespace semel::test
