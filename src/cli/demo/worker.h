// Worker: a real process that handles the demo's messages, to be killed.
#pragma once

#include <cstdint>
#include <string>

#include "cli/demo/process.h"
#include "cli/tally.h"

namespace semel::cli::demo {

struct WorkerSpec {
  std::vector<std::string> command;  // of this program, with what it is told
  std::string folder;                // where its tally and its log go
  std::string name;                  // of those files
  bool reads_stdin = false;
};

class Worker final : public Process {
 public:
  explicit Worker(const WorkerSpec& spec);

  const TallyCounts& counts() const noexcept { return tally_.counts(); }
  std::uint64_t ended() const noexcept;

 private:
  Tally tally_;
};

}  // namespace semel::cli::demo
