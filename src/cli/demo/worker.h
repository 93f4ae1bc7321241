// Worker: a real process that handles the demo's messages and that the demo kills.
#pragma once

#include <cstdint>
#include <string>

#include "cli/demo/process.h"
#include "cli/tally.h"

namespace semel::cli::demo {

struct WorkerSpec {
  std::vector<std::string> command;  // words of this program's command line
  std::string folder;                // holds its tally and its log
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
