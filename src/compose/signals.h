// SignalDrain: SIGTERM and SIGINT begin a service's drain; a second one hurries it. SIGHUP reloads
// it.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace semel::compose {

class SignalPipe;

// While one lives, these signals have a handler, which tells all that live, whichever thread of the
// process they come to. Meanwhile they are blocked in this thread and in those it starts, so that
// none of these is interrupted. Before the last one ends, nobody else may change their handlers.
class SignalDrain {
 public:
  // `stop` gets the signal that arrived, from a thread of its own. Without `hang_up` SIGHUP keeps
  // its previous effect. Throws std::system_error where there is no pipe or thread left.
  explicit SignalDrain(std::function<void(int signal)> stop, std::function<void()> hang_up = {});
  ~SignalDrain();
  SignalDrain(const SignalDrain&) = delete;
  SignalDrain& operator=(const SignalDrain&) = delete;

 private:
  void serve() const;
  void leave() noexcept;

  std::function<void(int)> stop_;
  std::function<void()> hang_up_;
  sigset_t taken_{};
  sigset_t before_{};
  SignalPipe& pipe_;
  std::thread thread_;
};

}  // namespace semel::compose
