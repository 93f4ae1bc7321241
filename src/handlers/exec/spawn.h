// Starts one process with pipes for its input and output.
#pragma once

#include <sys/types.h>

#include <semel/result.h>

#include "system/descriptor.h"

namespace semel::handlers::exec {

struct SpawnOrder {
  const char* program;  // its file
  char* const* arguments;
  char* const* environment;
};

// Our ends of the pipes never block.
struct Spawned {
  pid_t pid = -1;
  system::Descriptor in;   // we write to it: its stdin
  system::Descriptor out;  // we read from it: its stdout
  system::Descriptor err;  // we read from it: its stderr
};

// The process leads a process group of its own, has no other descriptor of this process, no signal
// blocked or ignored, and is killed when the calling thread ends. The calling thread has all
// signals blocked, and waits until the program runs. On failure: errno, and nothing was started.
tl::expected<Spawned, int> spawn(const SpawnOrder& order);

}  // namespace semel::handlers::exec
