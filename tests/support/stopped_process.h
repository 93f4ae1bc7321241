// StoppedProcess: stops a process, as if its machine hung: its connections stay open and are not
// answered. For servers that a test has started itself.
#pragma once

#include <sys/types.h>

#include <csignal>

namespace semel::test {

class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
  // Continues the process.
  ~StoppedProcess() { ::kill(pid_, SIGCONT); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

 private:
  const pid_t pid_;
};

}  // namespace semel::test
