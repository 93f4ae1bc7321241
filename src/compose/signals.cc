#include "compose/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace semel::compose {

SignalDrain::SignalDrain(std::function<void(int)> stop, std::function<void()> hang_up)
    : stop_(std::move(stop)), hang_up_(std::move(hang_up)) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (hang_up_) sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  ending_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] {
    for (;;) {
      pollfd fds[2] = {{signals_, POLLIN, 0}, {ending_, POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) return;
      signalfd_siginfo info{};
      while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo == SIGHUP) {
          hang_up_();
        } else {
          stop_(static_cast<int>(info.ssi_signo));
        }
      }
    }
  });
}

SignalDrain::~SignalDrain() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(ending_, &one, sizeof one);
  thread_.join();
  ::close(signals_);
  ::close(ending_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace semel::compose
