// StoppedProcess: a process that stands still, as one whose machine hangs: its connections stay
// open and nobody answers on them. For servers that a test has started itself.
#pragma once

#include <sys/types.h>

#include <csignal>

namespace semel::test {

class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
  // It goes on.
  ~StoppedProcess() { ::kill(pid_, SIGCONT); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

 private:
  const pid_t pid_;
};

}  // namespace semel::test
