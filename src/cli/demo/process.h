// Process: a program that the demo starts and may kill.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace semel::cli::demo {

// This program itself, as it runs.
inline constexpr const char* kThisProgram = "/proc/self/exe";

struct ProcessSpec {
  std::string program;             // a path
  std::vector<std::string> words;  // its name first
  std::string log;                 // a file: what it says is added
  bool reads_stdin = false;
};

// Killed and collected by the destructor; dies with this process too. Every failure to start it is
// thrown as SemelError.
class Process {
 public:
  explicit Process(const ProcessSpec& spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // SIGKILL; true when that is what it died of.
  bool kill();
  // SIGTERM, and the exit code of the drain, 0 where it did not listen; none where it died of
  // something else.
  std::optional<int> drain();
  // The exit code of one that ends by itself; none while it runs or where it was killed.
  std::optional<int> wait();
  bool runs();

  // A line on its stdin, and the end of it.
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
