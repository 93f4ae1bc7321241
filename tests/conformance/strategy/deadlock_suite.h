// A bed for deadlocks: two rows, and messages that lock both in one order or the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/conformance/strategy_suite.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

class DeadlockSuite : public StrategySuite {
 protected:
  void SetUp() override {
    StrategySuite::SetUp();
    place_->sql("CREATE TABLE account (id BIGINT PRIMARY KEY, n BIGINT)");
    place_->sql("INSERT INTO account VALUES (1, 0), (2, 0)");
    other_ = place_->open();
    ASSERT_EQ(other_->attach({"payments", "test", false, std::nullopt}), consumer_);
  }
  void TearDown() override {
    other_.reset();
    StrategySuite::TearDown();
  }

  // Two concurrent messages, each of which waits with one row locked for the other's.
  void deadlock(strategies::Strategy& one, strategies::Strategy& other) {
    have_one_ = 0;
    const std::string up = fmt::format("up-{}", deadlocks_);
    const std::string down = fmt::format("down-{}", deadlocks_++);
    std::thread beside([&] { process(other, batch({down})); });
    process(one, batch({up}));
    beside.join();
    ASSERT_EQ(effects(up) + effects(down), 2);
    ASSERT_GE(runs(up) + runs(down), 3) << "one was undone, and ran again";
  }
  // Many messages on both concurrently. Returns the largest number of their handlers that ran at a
  // time.
  int most_at_a_time(strategies::Strategy& one, strategies::Strategy& other) {
    constexpr int kMany = 60;
    std::vector<std::thread> threads;
    for (strategies::Strategy* const strategy : {&one, &other}) {
      threads.emplace_back([&, strategy, name = std::to_string(threads.size())] {
        for (int i = 0; i < kMany; ++i) {
          process(*strategy, batch({name + "-" + std::to_string(i)}));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(effects(), 2 * deadlocks_ + 2 * kMany);
    return most_inside_;
  }

  // The transactional part of each message.
  Twist both_rows() {
    return [this](const Message& message, Transaction* tx) -> std::optional<Verdict> {
      const Bytes& key = message.key().text;
      if (key.starts_with("up") || key.starts_with("down")) {
        const std::int64_t first = key.starts_with("up") ? 1 : 2;
        tx->exec("UPDATE account SET n = n + 1 WHERE id = ?", first);
        tx->query("SELECT 1");  // sends it
        ++have_one_;
        EXPECT_TRUE(test::comes_true([this] { return have_one_ >= 2; }));
        tx->exec("UPDATE account SET n = n + 1 WHERE id = ?", 3 - first);
        return std::nullopt;
      }
      const int inside = ++inside_;
      int most = most_inside_;
      while (inside > most && !most_inside_.compare_exchange_weak(most, inside)) {
      }
      for (int i = 0; i < 5; ++i) tx->query("SELECT 1");
      --inside_;
      return std::nullopt;
    };
  }

  std::unique_ptr<Store> other_;

 private:
  int deadlocks_ = 0;
  std::atomic<int> have_one_ = 0;
  std::atomic<int> inside_ = 0;
  std::atomic<int> most_inside_ = 0;
};

// On a server where a transaction can keep out all of other processes, not only those that have met
// a deadlock too.
class DeadlockOfProcessesSuite : public DeadlockSuite {};

}  // namespace semel::conformance
