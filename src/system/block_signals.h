// Signals are for the threads that expect them.
#pragma once

#include <pthread.h>

#include <csignal>

namespace semel::system {

// This thread is given none from now on; a connection that breaks is then an error, no SIGPIPE.
inline void block_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace semel::system
