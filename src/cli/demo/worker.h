// Worker: a real process that runs `semel run`, to be killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/tally.h"

namespace semel::cli::demo {

struct WorkerSpec {
  std::string config;
  std::string folder;  // where its tally and its log go
  std::string name;    // of those files
  bool reads_stdin = false;
  bool once = false;
};

// Killed and collected by the destructor; dies with this process too.
class Worker {
 public:
  explicit Worker(const WorkerSpec& spec);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // SIGKILL; true when that is what it died of.
  bool kill();
  // SIGTERM, and the exit code of the drain, 0 where it had not begun; none where it died of
  // something else.
  std::optional<int> drain();
  // The exit code of a worker that ends by itself; none while it runs or where it was killed.
  std::optional<int> wait();
  bool runs();

  // A line on its stdin, and the end of it.
  void say(const std::string& line);
  void end_input();

  const TallyCounts& counts() const noexcept { return tally_.counts(); }
  std::uint64_t ended() const noexcept;
  const std::string& log() const noexcept { return log_; }

 private:
  void collect(int options);

  std::string log_;
  Tally tally_;
  pid_t pid_ = -1;
  int input_ = -1;
  std::optional<int> status_;
};

}  // namespace semel::cli::demo
