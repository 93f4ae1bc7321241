#include "compose/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "system/mutex.h"

namespace semel::compose {

// A pipe from the handler of signals to one SignalDrain. It is never freed, for a handler may be
// reading it in any thread, but used again.
class SignalPipe {
 public:
  // Async-signal-safe.
  static void tell_all(char word) noexcept {
    const pid_t process = ::getpid();
    for (SignalPipe* one = first.load(); one != nullptr; one = one->next_) {
      if (one->user_.load() == process) one->tell(word);
    }
  }

  // One that is not used by another. A forked child leaves its parent the pipes that it made.
  static SignalPipe& take() {
    for (SignalPipe* one = first.load(); one != nullptr; one = one->next_) {
      pid_t nobody = 0;
      if (one->maker_ != ::getpid() || !one->user_.compare_exchange_strong(nobody, one->maker_)) {
        continue;
      }
      one->empty();
      return *one;
    }
    auto* const made = new SignalPipe;
    made->next_ = first.load();
    while (!first.compare_exchange_weak(made->next_, made)) {
    }
    return *made;
  }
  void give_back() noexcept { user_.store(0); }

  // Async-signal-safe. A full pipe holds more signals than anybody needs.
  void tell(char word) const noexcept {
    [[maybe_unused]] const auto written = ::write(ends_[1], &word, 1);
  }
  char wait() const noexcept {
    char word = 0;
    pollfd readable{ends_[0], POLLIN, 0};
    while (::poll(&readable, 1, -1) != 1 || ::read(ends_[0], &word, 1) != 1) {
    }
    return word;
  }

 private:
  SignalPipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pipe for signals");
    }
    ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
  }
  // A handler that was late may have written for the one before.
  void empty() const noexcept {
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    char word = 0;
    while (::read(ends_[0], &word, 1) == 1) {
    }
    ::fcntl(ends_[0], F_SETFL, 0);
  }

  static inline std::atomic<SignalPipe*> first{nullptr};
  const pid_t maker_ = ::getpid();
  std::atomic<pid_t> user_{maker_};  // 0: nobody
  int ends_[2] = {-1, -1};
  SignalPipe* next_ = nullptr;
};

namespace {

constexpr char kEnd = 0;

std::atomic<pid_t> handling_process{0};

// A forked child shares the pipes of its parent: there the signal has its usual effect.
void on_signal(int signal) {
  const int error = errno;
  if (::getpid() == handling_process.load()) {
    SignalPipe::tell_all(static_cast<char>(signal));
  } else {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = error;
}

// Has a handler for as long as somebody wants the signal.
class HandledSignal {
 public:
  explicit HandledSignal(int signal) : signal_(signal) {}
  void want() {
    const system::MutexLock lock(mutex_);
    handling_process.store(::getpid());
    if (wanted_++ > 0) return;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    ::sigaction(signal_, &action, &before_);
  }
  void leave() {
    const system::MutexLock lock(mutex_);
    if (--wanted_ == 0) ::sigaction(signal_, &before_, nullptr);
  }

 private:
  const int signal_;
  system::Mutex mutex_;
  int wanted_ SEMEL_GUARDED_BY(mutex_) = 0;
  struct sigaction before_ SEMEL_GUARDED_BY(mutex_) {};
};

HandledSignal& handled(int signal) {
  static HandledSignal term(SIGTERM), interrupt(SIGINT), hang_up(SIGHUP);
  if (signal == SIGTERM) return term;
  return signal == SIGINT ? interrupt : hang_up;
}

template <class F>
void for_each(const sigset_t& set, F use) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    if (::sigismember(&set, signal) == 1) use(signal);
  }
}

}  // namespace

SignalDrain::SignalDrain(std::function<void(int)> stop, std::function<void()> hang_up)
    : stop_(std::move(stop)), hang_up_(std::move(hang_up)), pipe_(SignalPipe::take()) {
  ::sigemptyset(&taken_);
  ::sigaddset(&taken_, SIGTERM);
  ::sigaddset(&taken_, SIGINT);
  if (hang_up_) ::sigaddset(&taken_, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  // Before the thread lets in what is pending.
  for_each(taken_, [](int signal) { handled(signal).want(); });
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (...) {
    leave();
    throw;
  }
}

SignalDrain::~SignalDrain() {
  pipe_.tell(kEnd);
  thread_.join();
  leave();
}

void SignalDrain::leave() noexcept {
  for_each(taken_, [](int signal) { handled(signal).leave(); });
  pipe_.give_back();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalDrain::serve() const {
  ::pthread_sigmask(SIG_UNBLOCK, &taken_, nullptr);
  for (char word = pipe_.wait(); word != kEnd; word = pipe_.wait()) {
    if (word != SIGHUP) {
      stop_(word);
    } else if (hang_up_) {
      hang_up_();
    }
  }
}

}  // namespace semel::compose
