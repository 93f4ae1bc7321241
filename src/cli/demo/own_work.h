// OwnWork: a hand-written consumer, around work that no record can commit with.
//
// `semel demo` starts it as a worker. It takes messages from the trial's queue or from stdin and
// asks Redis whether they were done; or it runs the trial's config with a handler that calls a
// service. The service is the ledger here: a database that no transaction of Semel reaches.
#pragma once

#include <string>

#include "cli/demo/contender.h"

namespace semel::cli::demo {

struct OwnWorkOptions {
  OwnWork kind = OwnWork::kSetNx;
  std::string folder;  // the trial's
  std::string tally;
  bool reads_stdin = false;
};

// Its files in the trial's folder: the queue of messages, and the data that it works on.
std::string queue_config(const std::string& folder);
std::string ledger(const std::string& folder);

// Returns the exit code at the end of stdin; with calls, after SIGTERM; otherwise never. Throws
// SemelError.
int do_own_work(const OwnWorkOptions& options);

}  // namespace semel::cli::demo
