// Process: a program that the demo starts and can kill.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace semel::cli::demo {

// The running program itself.
inline constexpr const char* kThisProgram = "/proc/self/exe";

struct ProcessSpec {
  std::string program;             // a path
  std::vector<std::string> words;  // its name first
  std::string log;                 // a file: its output is appended
  bool reads_stdin = false;
};

// The destructor kills and reaps the process; it also dies with this process. Throws SemelError if
// it cannot be started.
class Process {
 public:
  explicit Process(const ProcessSpec& spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends SIGKILL; returns whether the process died of it.
  bool kill();
  // Sends SIGTERM and returns the exit code after the drain: 0 if the process was not yet listening
  // for signals, none if it died of another signal.
  std::optional<int> drain();
  // The exit code of a process that ends by itself; none while it runs or if it was killed.
  std::optional<int> wait();
  bool runs();

  // Writes a line to its stdin, or closes its stdin.
  void say(const std::string& line);
  void end_input();

  const std::string& log() const noexcept { return log_; }

 private:
  void collect(int options);

  std::string log_;
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> status_;
};

}  // namespace semel::cli::demo
