// SignalDrain: SIGTERM and SIGINT begin a service's drain; a second one hurries it. SIGHUP reloads
// it.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace semel::compose {

// While it lives the two signals are blocked in this thread and in those it starts, and taken by a
// thread of its own. Make it before the threads that must not see them.
class SignalDrain {
 public:
  // `stop` is told which of the two it was. Without `hang_up` SIGHUP does what it did before.
  explicit SignalDrain(std::function<void(int signal)> stop, std::function<void()> hang_up = {});
  ~SignalDrain();
  SignalDrain(const SignalDrain&) = delete;
  SignalDrain& operator=(const SignalDrain&) = delete;

 private:
  std::function<void(int)> stop_;
  std::function<void()> hang_up_;
  sigset_t before_{};
  int signals_ = -1;
  int ending_ = -1;
  std::thread thread_;
};

}  // namespace semel::compose
