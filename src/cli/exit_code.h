// Exit codes that scripts rely on (docs/cli.md, `semel explain exit-codes`).
#pragma once

#include <semel/error.h>

namespace semel::cli {

enum ExitCode : int {
  kOk = 0,
  kBad = 1,           // the answer to the question is bad
  kUsage = 2,         // the command line is wrong
  kPartly = 3,        // a bulk command did only a part; the summary says which
  kNothing = 4,       // nothing matched
  kUnavailable = 69,  // the store or a source cannot be reached
  kInternal = 70,     // a defect in Semel, or a handler that hung and held the store
  kNoPermission = 77,
  kConfig = 78,  // the config cannot be run; a restart will not help
  kInterrupted = 130,
};

// Taken from the error's page in the catalog; without a page, from its kind.
ExitCode exit_code_of(const Error& error);

}  // namespace semel::cli
