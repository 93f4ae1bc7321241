// Leaves signals to the threads that expect them.
#pragma once

#include <pthread.h>

#include <csignal>

namespace semel::system {

// Blocks all signals in this thread; a broken connection is then an error, not a SIGPIPE.
inline void block_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace semel::system
