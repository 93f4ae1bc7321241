// OwnWork: a consumer as someone writes it by hand, around work that no record can commit with.
//
// `semel demo` starts it as a worker: it takes messages from the trial's queue, or from stdin, and
// asks Redis whether they were done.
#pragma once

#include <string>

#include "cli/demo/contender.h"

namespace semel::cli::demo {

struct OwnWorkOptions {
  RedisKeys keys = RedisKeys::kSetNx;
  std::string folder;  // the trial's
  std::string tally;
  bool reads_stdin = false;
};

// Its files in the trial's folder: where the messages wait, and what it works on.
std::string queue_config(const std::string& folder);
std::string ledger(const std::string& folder);

// Ends with stdin, else never. Throws SemelError.
void do_own_work(const OwnWorkOptions& options);

}  // namespace semel::cli::demo
