// SignalDrain: SIGTERM and SIGINT begin a service's drain; a second one hurries it. SIGHUP reloads
// it.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace semel::compose {

// While it lives the two signals are blocked in this thread and in those it starts, and received by
// a thread of its own. Create it before threads that must not receive them.
class SignalDrain {
 public:
  // `stop` gets the signal that arrived. Without `hang_up` SIGHUP keeps its previous effect.
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
