// Signals that drain: whichever thread they come to, all that want one are told.
#include "compose/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>

namespace semel::compose {
namespace {

#if defined(__has_feature)
constexpr bool kUnderThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

// A drain that keeps the first signal that it is told of.
class Told {
 public:
  int signal() { return first_.get_future().get(); }

 private:
  std::promise<int> first_;
  SignalDrain drain_{[this](int signal) { first_.set_value(signal); }};
};

// A thread that the host had before: nothing is blocked in it. It waits in poll, for only in such a
// call does ThreadSanitizer hand a signal on at once.
class HostThread {
 public:
  HostThread() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    thread_ = std::thread([this] {
      pollfd over{ends_[0], POLLIN, 0};
      while (::poll(&over, 1, -1) != 1) {
      }
    });
  }
  ~HostThread() {
    ::close(ends_[1]);
    thread_.join();
    ::close(ends_[0]);
  }
  void send(int signal) { ASSERT_EQ(::pthread_kill(thread_.native_handle(), signal), 0); }

 private:
  int ends_[2] = {-1, -1};
  std::thread thread_;
};

TEST(SignalDrainTest, ASignalThatComesToAThreadOfTheHostDrains) {
  HostThread host;
  Told told;
  host.send(SIGTERM);
  EXPECT_EQ(told.signal(), SIGTERM);
}

TEST(SignalDrainTest, AllAreTold) {
  Told one, other;
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  EXPECT_EQ(one.signal(), SIGINT);
  EXPECT_EQ(other.signal(), SIGINT);
}

TEST(SignalDrainTest, ALaterOneHearsNothingOfEarlierSignals) {
  {
    Told before;
    ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
    EXPECT_EQ(before.signal(), SIGINT);
  }
  Told told;
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  EXPECT_EQ(told.signal(), SIGTERM);
}

TEST(SignalDrainTest, AHangUpIsForThoseThatWantIt) {
  std::promise<void> heard;
  Told told;
  SignalDrain reloads([](int) { FAIL() << "it was no end"; }, [&heard] { heard.set_value(); });
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  heard.get_future().wait();
}

TEST(SignalDrainTest, TheHandlerOfTheHostIsBackAfterwards) {
  struct sigaction own {};
  own.sa_handler = SIG_IGN;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGTERM, &own, &before), 0);
  auto outer = std::make_unique<Told>();
  auto inner = std::make_unique<Told>();
  struct sigaction now {};
  inner.reset();
  ::sigaction(SIGTERM, nullptr, &now);
  EXPECT_NE(now.sa_handler, SIG_IGN) << "one wants it still";
  outer.reset();
  ::sigaction(SIGTERM, &before, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(SignalDrainTest, InAForkedChildTheSignalHasItsUsualEffect) {
  if (kUnderThreadSanitizer) GTEST_SKIP() << "it hands on no signal in a child of several threads";
  Told told;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    ::alarm(30);
    ::raise(SIGTERM);
    for (;;) ::poll(nullptr, 0, -1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  EXPECT_EQ(told.signal(), SIGINT) << "nothing of the child's";
}

}  // namespace
}  // namespace semel::compose
