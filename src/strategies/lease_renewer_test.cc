#include "strategies/lease_renewer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <utility>

#include <semel/environment.h>

#include "tests/support/builders.h"
#include "tests/support/test_environment.h"

namespace semel::strategies {
namespace {

using Handlers = HandlerMonitor::Handlers;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Only renew is ever called; the test chooses its answer.
class RenewingStore final : public Store {
 public:
  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override { return {}; }
  Result<ConsumerNumber> attach(const ConsumerSpec&) override { return ConsumerNumber{1}; }
  Result<std::vector<Claim>> claim(std::span<const Message* const>, const ClaimOptions&) override {
    return std::vector<Claim>{};
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds) override {
    {
      std::lock_guard lock(mutex_);
      renewed_ += leases.size();
      for (const Lease& lease : leases) ++renewed_of_[lease.token];
    }
    changed_.notify_all();
    if (during) during();
    if (away) return failure({ErrorKind::kUnavailable, "R200", "away", ""});
    return std::vector<Applied>(leases.size(), lost ? Applied::kLeaseLost : Applied::kYes);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override {
    return std::vector<Applied>{};
  }
  Result<PurgeReport> purge(milliseconds) override { return PurgeReport{}; }

  bool wait_renewed(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [&] { return renewed_ >= count; });
  }
  bool wait_renewed_of(const Lease& lease, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [&] { return renewed_of_[lease.token] >= count; });
  }
  std::size_t renewed() {
    std::lock_guard lock(mutex_);
    return renewed_;
  }
  std::size_t renewed_of(const Lease& lease) {
    std::lock_guard lock(mutex_);
    return renewed_of_[lease.token];
  }
  std::atomic<bool> lost{false};
  std::atomic<bool> away{false};
  std::function<void()> during;  // set it before anything is watched

 private:
  StoreTraits traits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t renewed_ = 0;
  std::map<Token, std::size_t> renewed_of_;
};

Lease lease_of(std::uint64_t number) {
  Lease lease;
  lease.token = Token{number};
  return lease;
}

bool wait_stopped(const std::stop_token& token) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return stopped.wait_for(lock, token, seconds(60), [] { return false; }) || token.stop_requested();
}

class LeaseRenewerTest : public testing::Test {
 protected:
  LeaseRenewerOptions options(milliseconds lease, milliseconds timeout) {
    LeaseRenewerOptions o;
    o.lease = lease;
    o.timeout = timeout;
    o.grace = milliseconds(40);
    o.store = &store_;
    o.clock = system_environment().clock;
    o.hung = [this](const std::string&) {
      hung_ = true;
      hung_.notify_all();
    };
    return o;
  }
  // Time passes only by clock_.advance().
  LeaseRenewerOptions manual_options(milliseconds lease, milliseconds timeout) {
    LeaseRenewerOptions o = options(lease, timeout);
    o.clock = &clock_;
    return o;
  }

  RenewingStore store_;
  test::ManualClock clock_;
  std::atomic<bool> hung_{false};
  const std::vector<Lease> leases_{lease_of(1), lease_of(2)};
};

TEST_F(LeaseRenewerTest, RenewsEveryLeaseOfABatchAgainAndAgain) {
  LeaseRenewer renewer(options(milliseconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  EXPECT_TRUE(store_.wait_renewed(6));
}

TEST_F(LeaseRenewerTest, AFinishedLeaseIsNotRenewed) {
  LeaseRenewer renewer(options(milliseconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  watch->finished(0);
  watch->finished(1);
  // One round of the renewer's thread may have begun earlier.
  const Lease marks[] = {lease_of(3)};
  auto other = renewer.watch(marks, Handlers::kInTurn);
  ASSERT_TRUE(store_.wait_renewed_of(marks[0], 1));
  const std::size_t before = store_.renewed_of(leases_[0]) + store_.renewed_of(leases_[1]);
  ASSERT_TRUE(store_.wait_renewed_of(marks[0], 4));
  EXPECT_EQ(store_.renewed_of(leases_[0]) + store_.renewed_of(leases_[1]), before);
}

TEST_F(LeaseRenewerTest, ALostLeaseStopsItsHandlerAndThoseThatBeginLater) {
  LeaseRenewer renewer(options(milliseconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token running = watch->handler_begins(0);
  store_.lost = true;
  EXPECT_TRUE(wait_stopped(running));
  EXPECT_TRUE(watch->handler_begins(1).stop_requested());
}

// As after SIGSTOP: the batch's thread wakes before the renewer's.
TEST_F(LeaseRenewerTest, NothingBeginsUnderALeaseThatMayHaveEnded) {
  LeaseRenewer renewer(manual_options(seconds(60), milliseconds(0)));
  store_.away = true;
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  EXPECT_FALSE(watch->handler_begins(0).stop_requested());
  clock_.advance(seconds(61));
  EXPECT_TRUE(watch->handler_begins(1).stop_requested());
}

TEST_F(LeaseRenewerTest, NothingBeginsWhereTheAnswerToTheClaimCameTooLate) {
  LeaseRenewer renewer(manual_options(seconds(60), milliseconds(0)));
  store_.away = true;
  const std::vector<std::chrono::nanoseconds> asked(leases_.size(), clock_.elapsed());
  clock_.advance(seconds(61));
  auto watch = renewer.watch(leases_, Handlers::kInTurn, 1, asked);
  EXPECT_TRUE(watch->handler_begins(0).stop_requested());
}

// The store's clock went on while the machine was suspended.
TEST_F(LeaseRenewerTest, NothingBeginsUnderALeaseThatEndedInASuspension) {
  LeaseRenewer renewer(manual_options(seconds(60), milliseconds(0)));
  store_.away = true;
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  clock_.suspend(seconds(61));
  EXPECT_TRUE(watch->handler_begins(0).stop_requested());
}

TEST_F(LeaseRenewerTest, RenewsAfterAShortSuspension) {
  LeaseRenewer renewer(manual_options(seconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token running = watch->handler_begins(0);
  clock_.suspend(seconds(30));
  ASSERT_TRUE(store_.wait_renewed(leases_.size()));
  EXPECT_FALSE(running.stop_requested());
}

TEST_F(LeaseRenewerTest, AStoreThatIsAwayStopsNobody) {
  LeaseRenewer renewer(manual_options(milliseconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token running = watch->handler_begins(0);
  store_.away = true;
  for (std::size_t tries = 2; tries <= 6; tries += 2) {
    clock_.advance(milliseconds(30));
    ASSERT_TRUE(store_.wait_renewed(tries));
  }
  EXPECT_FALSE(running.stop_requested());
}

TEST_F(LeaseRenewerTest, TheTimeoutStopsOnlyTheHandlerItIsAbout) {
  LeaseRenewer renewer(manual_options(seconds(60), milliseconds(40)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token slow = watch->handler_begins(0);
  clock_.advance(milliseconds(40));
  EXPECT_TRUE(wait_stopped(slow));
  watch->handler_ended(0);
  EXPECT_FALSE(watch->handler_begins(1).stop_requested());
}

TEST_F(LeaseRenewerTest, AHungHandlersLeaseLapses) {
  const LeaseRenewerOptions o = manual_options(milliseconds(30), milliseconds(10));
  LeaseRenewer renewer(o);
  auto watch = renewer.watch(std::span(leases_).first(1), Handlers::kInTurn);
  const std::stop_token hung = watch->handler_begins(0);
  clock_.advance(o.timeout + o.grace);
  ASSERT_TRUE(wait_stopped(hung));
  const std::size_t before = store_.renewed_of(leases_[0]);
  // Renewals of another lease show that the renewer's thread runs.
  auto alive = renewer.watch(std::span(leases_).last(1), Handlers::kInTurn);
  for (std::size_t round = 1; round <= 4; ++round) {
    clock_.advance(o.lease);
    ASSERT_TRUE(store_.wait_renewed_of(leases_[1], round));
  }
  EXPECT_EQ(store_.renewed_of(leases_[0]), before) << "the hung handler's lease was renewed";
}

TEST_F(LeaseRenewerTest, ATransactionalHandlerThatHangsEndsTheProcess) {
  LeaseRenewer renewer(options(seconds(60), milliseconds(20)));
  auto watch = renewer.watch({}, Handlers::kInTransaction);
  const std::stop_token token = watch->handler_begins(5);
  hung_.wait(false);
  EXPECT_TRUE(token.stop_requested());
}

TEST_F(LeaseRenewerTest, TicksUntilTheWatchEnds) {
  LeaseRenewer renewer(options(seconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  std::atomic<int> ticks{0};
  watch->on_tick([&] {
    watch->finished(0);  // the renewer may call back
    ++ticks;
    ticks.notify_all();
  });
  ticks.wait(0);
  watch.reset();
  const int at_end = ticks;
  auto other = renewer.watch(leases_, Handlers::kInTurn);
  std::atomic<int> later{0};
  other->on_tick([&] {
    ++later;
    later.notify_all();
  });
  for (int seen = 0; seen < 3; seen = later) later.wait(seen);
  EXPECT_EQ(ticks, at_end);
}

TEST_F(LeaseRenewerTest, AWatchEndsWhileItsLeasesAreBeingRenewed) {
  std::latch asked(1);
  std::latch answers(1);
  store_.during = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    asked.count_down();
    answers.wait();
  };
  store_.lost = true;
  LeaseRenewer renewer(options(seconds(2), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token ended = watch->handler_begins(0);
  asked.wait();
  watch.reset();  // would hang if it waited for the store
  const Lease marks[] = {lease_of(3)};
  auto other = renewer.watch(marks, Handlers::kInTurn);
  answers.count_down();
  ASSERT_TRUE(store_.wait_renewed_of(marks[0], 1));
  EXPECT_FALSE(ended.stop_requested()) << "the batch had ended before the store answered";
}

// Like a user's handler that cancels its call and answers at once.
TEST_F(LeaseRenewerTest, WhatHangsOnAStopTokenMayEndItsHandlerThere) {
  LeaseRenewer renewer(options(seconds(60), milliseconds(20)));
  auto watch = renewer.watch(leases_, Handlers::kTogether);
  std::atomic<int> ended{0};
  const auto end = [&](std::size_t which) {
    watch->handler_ended(which);
    ++ended;
    ended.notify_all();
  };
  const std::stop_token timed_out = watch->handler_begins(0);
  const std::stop_callback on_timeout(timed_out, [&] { end(0); });
  ended.wait(0);
  const std::stop_token all = watch->handler_begins(1);
  const std::stop_callback on_all(all, [&] { end(1); });
  renewer.stop_all();
  EXPECT_EQ(ended, 2);
}

TEST_F(LeaseRenewerTest, ADrainKeepsWhatHasCalledOutsideFromNothing) {
  LeaseRenewerOptions o = options(seconds(60), milliseconds(0));
  o.draining = [] { return true; };
  LeaseRenewer renewer(o);
  EXPECT_TRUE(renewer.watch(leases_, Handlers::kInTransaction)->handler_begins(0).stop_requested());
  EXPECT_FALSE(renewer.watch(leases_, Handlers::kSecondPart)->handler_begins(0).stop_requested());
}

TEST_F(LeaseRenewerTest, StopAllReachesRunningAndComing) {
  LeaseRenewer renewer(options(seconds(60), milliseconds(0)));
  auto watch = renewer.watch(leases_, Handlers::kInTurn);
  const std::stop_token running = watch->handler_begins(0);
  EXPECT_FALSE(watch->cancelled());
  renewer.stop_all();
  EXPECT_TRUE(watch->cancelled());
  EXPECT_TRUE(running.stop_requested());
  EXPECT_TRUE(watch->handler_begins(1).stop_requested());
  EXPECT_TRUE(renewer.watch({}, Handlers::kInTransaction)->handler_begins(0).stop_requested());
}

}  // namespace
}  // namespace semel::strategies
