// Exit codes: what a script learns from the program (docs/cli.md, `semel explain exit-codes`).
#pragma once

#include <semel/error.h>

namespace semel::cli {

enum ExitCode : int {
  kOk = 0,
  kBad = 1,           // the thing asked about is bad
  kUsage = 2,         // the command line is wrong
  kPartly = 3,        // a bulk command did a part of it; the summary says which
  kNothing = 4,       // nothing matched
  kUnavailable = 69,  // the store or a source cannot be reached
  kInternal = 70,     // a defect of ours, or a handler that hung and held the store
  kNoPermission = 77,
  kConfig = 78,  // the config cannot be run; starting again will not mend it
  kInterrupted = 130,
};

// Its page in the catalog says it; without a page, its kind.
ExitCode exit_code_of(const Error& error);

}  // namespace semel::cli
