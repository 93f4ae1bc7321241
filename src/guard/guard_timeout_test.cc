// How long the lease of hanging work, or of a forgotten claim, is renewed.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <semel/guard.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "core/pace.h"
#include "tests/support/fault_store.h"
#include "tests/support/test_environment.h"

namespace semel::guard {
namespace {

using std::chrono::milliseconds;
using Said = Outcome::Kind;

const Fingerprint kNote = fingerprint_of("note");

// Time passes only by advance(), for the guards and for their store.
class GuardTimeoutTest : public ::testing::Test {
 protected:
  static GuardOptions options() {
    GuardOptions made;
    made.consumer = "notes";
    made.lease = milliseconds(3'000);
    made.timeout = milliseconds(20);
    made.grace = milliseconds(10'000);
    return made;
  }

  static bool wait_stopped(const std::stop_token& token) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, token, std::chrono::seconds(60), [] { return false; });
    return token.stop_requested();
  }
  milliseconds now() {
    return std::chrono::duration_cast<milliseconds>(clock_.now().time_since_epoch());
  }
  // Returns when `guard` has looked at all of its leases at the present time, and has renewed those
  // that it wants to. Each claim here is stopped by a later look than the one before it, and a look
  // visits the leases in the order of their claims.
  void wait_for_a_look(Guard& guard) {
    for (int look = 0; look < 2; ++look) {
      auto begun = guard.begin("look-" + std::to_string(++looks_), kNote);
      ASSERT_TRUE(begun && begun->claim);
      clock_.advance(options().timeout);
      ASSERT_TRUE(wait_stopped(begun->claim->attempt().stop));
    }
  }
  // Lets `time` pass, in steps in which a renewed lease does not end.
  void pass(Guard& guard, milliseconds time) {
    const milliseconds end = now() + time;
    const milliseconds step = options().lease / 3;
    while (now() + step + 2 * options().timeout <= end) {
      clock_.advance(step);
      ASSERT_NO_FATAL_FAILURE(wait_for_a_look(guard));
    }
    clock_.advance(end - now());
  }
  // Lets a lease end that is no longer renewed: a last renewal may be in progress.
  void outlast_lease(Guard& guard) {
    ASSERT_NO_FATAL_FAILURE(wait_for_a_look(guard));
    pass(guard, options().lease + milliseconds(1));
  }
  Said asked(Guard& guard) {
    return guard.run_once("a", kNote, [] { return retry("only asked"); }).value().kind;
  }

  test::TestEnvironment environment_;
  test::ManualClock& clock_ = environment_.clock;
  const test::SystemClock system_clock_{clock_};
  std::unique_ptr<Store> store_ = make_memory_store({.environment = &environment_.get()});
  Guard guard_{*store_, options()};
  Guard other_{*store_, options()};
  int looks_ = 0;
};

TEST_F(GuardTimeoutTest, AForgottenClaimLosesItsKeyAndItsLateEndIsRefused) {
  const milliseconds begun = now();
  auto forgotten = guard_.begin("a", kNote);
  ASSERT_TRUE(forgotten && forgotten->claim);
  GuardClaim& late = *forgotten->claim;
  EXPECT_FALSE(late.attempt().stop.stop_requested());
  clock_.advance(options().timeout);
  EXPECT_TRUE(wait_stopped(late.attempt().stop));

  ASSERT_NO_FATAL_FAILURE(pass(guard_, options().grace - milliseconds(500)));
  EXPECT_GT(now() - begun, 3 * options().lease);
  EXPECT_EQ(asked(other_), Said::kBusy) << "within the grace it is renewed";

  clock_.advance(begun + options().timeout + options().grace - now());
  ASSERT_NO_FATAL_FAILURE(outlast_lease(guard_));
  auto next = other_.begin("a", kNote);
  ASSERT_TRUE(next && next->claim) << "it was renewed without end";
  EXPECT_TRUE(next->claim->attempt().taken_over);
  EXPECT_GT(next->claim->attempt().token, late.attempt().token);

  EXPECT_FALSE(late.renew().value());
  const auto refused = late.complete("the late one's");
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->kind, Said::kBusy);
  EXPECT_EQ(refused->reason, reason::kLeaseLost);
  EXPECT_EQ(next->claim->complete("the new one's")->kind, Said::kDone);
  EXPECT_EQ(guard_.begin("a", kNote)->outcome.result, "the new one's");
}

TEST_F(GuardTimeoutTest, WorkThatHangsLosesItsKeyAndItsLateEndIsRefused) {
  std::optional<Outcome> others;
  const auto hang = [&](const Attempt& attempt) {
    clock_.advance(options().timeout);
    EXPECT_TRUE(wait_stopped(attempt.stop));
    EXPECT_EQ(asked(other_), Said::kBusy);
    clock_.advance(options().grace);
    outlast_lease(guard_);
    others = other_.run_once("a", kNote, [] { return done("the new one's"); }).value();
    return done("the late one's");
  };
  const auto refused = guard_.run_once("a", kNote, hang);
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_TRUE(others);
  EXPECT_EQ(others->kind, Said::kDone);
  EXPECT_EQ(refused->kind, Said::kBusy);
  EXPECT_EQ(refused->reason, reason::kLeaseLost);
  EXPECT_EQ(guard_.begin("a", kNote)->outcome.result, "the new one's");
}

TEST_F(GuardTimeoutTest, AClaimThatIsLateAloneIsRecordedAndRenewedByItsHolder) {
  auto begun = guard_.begin("a", kNote);
  ASSERT_TRUE(begun && begun->claim);
  ASSERT_NO_FATAL_FAILURE(pass(guard_, options().timeout + options().grace));
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(begun->claim->renew().value());
    ASSERT_NO_FATAL_FAILURE(pass(guard_, options().lease * 2 / 3));
    EXPECT_EQ(asked(other_), Said::kBusy);
  }
  ASSERT_NO_FATAL_FAILURE(outlast_lease(guard_));
  EXPECT_EQ(begun->claim->complete("late, and alone")->kind, Said::kDone);
  EXPECT_EQ(guard_.begin("a", kNote)->outcome.result, "late, and alone");
}

TEST_F(GuardTimeoutTest, UnderAtMostOnceAForgottenClaimWaitsForAPerson) {
  GuardOptions once = options();
  once.consumer = "notes-once";
  once.at_most_once = true;
  Guard guard(*store_, once);
  auto forgotten = guard.begin("a", kNote);
  ASSERT_TRUE(forgotten && forgotten->claim);
  clock_.advance(options().timeout + options().grace);
  ASSERT_NO_FATAL_FAILURE(outlast_lease(guard));
  const auto parked = guard.begin("a", kNote);
  EXPECT_FALSE(parked->claim);
  EXPECT_EQ(parked->outcome.kind, Said::kParked);
  EXPECT_EQ(parked->outcome.reason, reason::kLeaseParked);
}

TEST_F(GuardTimeoutTest, WithoutATimeoutAClaimIsKeptAsLongAsItLives) {
  GuardOptions endless = options();
  endless.timeout = milliseconds(0);
  endless.lease = milliseconds(60);
  endless.grace = milliseconds(0);
  test::FaultPlan renewals;
  const auto store = test::make_fault_store(*store_, renewals);
  Guard guard(*store, endless);
  auto held = guard.begin("a", kNote);
  ASSERT_TRUE(held && held->claim);
  for (std::size_t round = 1; round <= 20; ++round) {
    clock_.advance(endless.lease / 2);
    while (renewals.calls(test::StoreCall::kRenew) < round) std::this_thread::yield();
  }
  EXPECT_FALSE(held->claim->attempt().stop.stop_requested());
  EXPECT_EQ(held->claim->complete()->kind, Said::kDone);
}

TEST(GuardDefaults, TheTimeoutIsThatOfEveryConsumer) {
  EXPECT_EQ(GuardOptions().timeout, core::kUsualTimeout);
  EXPECT_EQ(GuardOptions().grace, core::kUsualGrace);
}

}  // namespace
}  // namespace semel::guard
