// Work: a test bed on which workers go on while its server is at fault.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/chaos/test_bed.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::test {

// A test bed with its workers, which are restarted when they end because the server is away, as a
// supervisor would, and a continuing stream of messages.
class Work {
 public:
  Work(std::unique_ptr<Database> database, std::vector<std::string> settings, std::size_t count)
      : bed_(std::move(database)), settings_(std::move(settings)), workers_(count) {
    // The worker takes the last value of a setting: the given ones override these.
    settings_.insert(settings_.begin(), {"batch=20", "lease=2s", "slow=500"});
    // Its tables, before the first kill.
    send(1);
  }

  TestBed& bed() noexcept { return bed_; }
  std::size_t sent() const noexcept { return bed_.sent(); }

  void send(std::size_t keys) { bed_.send_new(keys); }
  void tend() {
    std::vector<std::string> endless = settings_;
    endless.push_back("once=0");
    for (auto& worker : workers_) {
      if (worker) {
        const auto ended = worker->wait(std::chrono::milliseconds(0));
        if (!ended) continue;
        EXPECT_EQ(ended->code, 69) << "it can only want for a store";
        worker.reset();
      }
      worker.emplace(bed_.start(endless));
    }
  }
  // Returns when `count()` is greater than `before`, its value before something was sent; all of it
  // may be done by then. False if it took too long.
  template <class Count>
  bool goes_on(const Count& count, std::size_t before) {
    return comes_true([&] {
      if (count() > before) return true;
      tend();
      return false;
    });
  }
  // The rest is done by a worker that ends when no message is left.
  void finish() {
    for (auto& worker : workers_) {
      if (!worker) continue;
      worker->terminate();
      ASSERT_TRUE(worker->wait());
    }
    EXPECT_EQ(bed_.run(settings_), 0);
  }

 private:
  TestBed bed_;
  std::vector<std::string> settings_;
  std::vector<std::optional<ChildProcess>> workers_;
};

// Cuts connections through the proxy at random bytes, until this many were cut.
inline void cut_at_any_byte(TcpProxy& proxy, Work& work, SeededRandom& random, std::size_t cuts,
                            std::size_t fewest_bytes) {
  std::size_t fired = 0;
  while (fired < cuts) {
    constexpr TcpProxy::Then kThens[] = {TcpProxy::Then::kWithhold, TcpProxy::Then::kLose,
                                         TcpProxy::Then::kCut};
    TcpProxy::Fault fault;
    fault.heard = random.below(2) == 0 ? TcpProxy::Side::kClient : TcpProxy::Side::kServer;
    fault.bytes = fewest_bytes + random.below(10'000);
    fault.then = kThens[random.below(std::size(kThens))];
    fault.times = 1 + random.below(3);
    fault.reset = random.below(2) == 0;
    const auto id = proxy.inject(fault);
    // Otherwise all open connections may have sent more by now.
    proxy.cut_all();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (proxy.fired(id) < fault.times) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the fault does not fire";
      work.tend();
      work.send(40);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    proxy.clear();
    fired += fault.times;
  }
}

}  // namespace semel::test
