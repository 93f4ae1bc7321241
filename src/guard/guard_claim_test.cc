// A key that is claimed in one place and finished in another.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <semel/admin/records.h>
#include <semel/guard.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "tests/conformance/strategy/scripted_store.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"

namespace semel::guard {
namespace {

using std::chrono::milliseconds;
using test::StoreCall;
using test::When;
using Kind = Outcome::Kind;

const Fingerprint kLetter = fingerprint_of("letter");

class GuardClaimTest : public ::testing::Test {
 protected:
  GuardClaimTest()
      : inner_(make_memory_store()),
        store_(test::make_fault_store(*inner_, plan_)),
        guard_(*store_, options()) {}

  static GuardOptions options(milliseconds lease = milliseconds(60'000)) {
    GuardOptions made;
    made.consumer = "letters";
    made.lease = lease;
    return made;
  }
  static GuardClaim claim(Guard& guard, BytesView key = "a") {
    auto begun = guard.begin(key, kLetter);
    EXPECT_TRUE(begun && begun->claim);
    return *std::move(begun->claim);
  }
  // The answer of run_once.
  Outcome ask(BytesView key = "a") {
    return guard_.run_once(key, kLetter, [] { return retry("only asked"); }).value();
  }

  std::unique_ptr<Store> inner_;
  test::FaultPlan plan_;
  std::unique_ptr<Store> store_;
  Guard guard_;
};

TEST_F(GuardClaimTest, ItIsFinishedInAnotherThreadAndItsResultIsGivenAgain) {
  GuardClaim held = claim(guard_);
  EXPECT_EQ(held.attempt().number, 1);
  EXPECT_NE(held.attempt().token, Token{});
  EXPECT_EQ(ask().kind, Kind::kBusy);
  EXPECT_EQ(guard_.begin("a", kLetter)->outcome.kind, Kind::kBusy);
  EXPECT_TRUE(held.renew().value());
  std::thread([moved = std::move(held)]() mutable {
    const auto outcome = moved.complete("receipt");
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->kind, Kind::kDone);
    EXPECT_TRUE(outcome->effect_exists());
    EXPECT_EQ(moved.complete().error().kind, ErrorKind::kRejected) << "it is over";
    EXPECT_EQ(moved.renew().error().kind, ErrorKind::kRejected);
  }).join();
  const auto again = guard_.begin("a", kLetter);
  EXPECT_FALSE(again->claim);
  EXPECT_EQ(again->outcome.kind, Kind::kDuplicate);
  EXPECT_EQ(again->outcome.result, "receipt");
  EXPECT_EQ(guard_.begin("a", fingerprint_of("other"))->outcome.kind, Kind::kConflict);
}

TEST_F(GuardClaimTest, WhatIsNotFinishedIsGivenBackAtOnceAndNotCounted) {
  { const GuardClaim dropped = claim(guard_); }
  GuardClaim held = claim(guard_);
  EXPECT_EQ(held.attempt().number, 1);
  EXPECT_FALSE(held.attempt().taken_over);
  held = claim(guard_, "b");
  EXPECT_EQ(ask("a").kind, Kind::kRetry) << "assigned over: nobody holds it";
  const auto outcome = held.give_back("the line is busy", milliseconds(7));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::kRetry);
  EXPECT_TRUE(outcome->try_again());
  EXPECT_EQ(outcome->error, "the line is busy");
  EXPECT_EQ(outcome->delay, milliseconds(7));
  EXPECT_EQ(claim(guard_, "b").end(dead("no such address"))->kind, Kind::kDead);
  const auto closed = guard_.begin("b", kLetter);
  EXPECT_TRUE(closed->outcome.given_up());
  EXPECT_TRUE(closed->outcome.closed_before);
}

TEST_F(GuardClaimTest, AMovedFromClaimIsOver) {
  GuardClaim first = claim(guard_);
  const Attempt& attempt = first.attempt();
  GuardClaim second = std::move(first);
  EXPECT_EQ(&second.attempt(), &attempt) << "it moves with the claim";
  EXPECT_FALSE(attempt.stop.stop_requested());
  EXPECT_EQ(first.attempt().token, Token{});  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(first.attempt().stop.stop_requested());
  EXPECT_EQ(first.renew().error().kind, ErrorKind::kRejected);
  EXPECT_EQ(first.complete("late").error().kind, ErrorKind::kRejected);
  EXPECT_EQ(first.give_back("late").error().kind, ErrorKind::kRejected);
  EXPECT_EQ(first.end(dead("late")).error().kind, ErrorKind::kRejected);
  EXPECT_TRUE(second.renew().value()) << "nothing of that ended what was moved away";
  EXPECT_EQ(second.complete()->kind, Kind::kDone);
  GuardClaim third = claim(guard_, "b");
  first = std::move(third);
  EXPECT_EQ(first.complete()->kind, Kind::kDone) << "assigned to, it is a claim again";
}

TEST_F(GuardClaimTest, ItsLeaseIsRenewedForAsLongAsItIsHeld) {
  Guard quick(*store_, options(milliseconds(300)));
  GuardClaim held = claim(quick);
  while (plan_.calls(StoreCall::kRenew) < 5) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(ask().kind, Kind::kBusy);
  EXPECT_FALSE(held.attempt().stop.stop_requested());
  EXPECT_EQ(held.complete()->kind, Kind::kDone);
}

TEST_F(GuardClaimTest, ALateHolderIsRefusedByName) {
  Guard quick(*store_, options(milliseconds(300)));
  GuardClaim late = claim(quick);
  std::promise<void> fired;
  const std::stop_callback callback(late.attempt().stop, [&] { fired.set_value(); });
  // Its renewals fail, as after a pause of the process.
  plan_.fail_always(StoreCall::kRenew, ErrorKind::kUnavailable, When::kBefore);
  std::optional<GuardClaim> other;
  while (!other) {
    auto begun = guard_.begin("a", kLetter);
    ASSERT_TRUE(begun);
    other = std::move(begun->claim);
  }
  EXPECT_TRUE(other->attempt().taken_over);
  EXPECT_EQ(other->attempt().number, 2);
  EXPECT_GT(other->attempt().token, late.attempt().token);
  plan_.clear();
  EXPECT_FALSE(late.renew().value());
  EXPECT_EQ(fired.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const auto refused = late.complete("the late one's");
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->kind, Kind::kBusy);
  EXPECT_EQ(refused->reason, reason::kLeaseLost);
  EXPECT_EQ(refused->settle, Outcome::Settle::kLater);
  EXPECT_EQ(other->complete("the new one's")->kind, Kind::kDone);
  EXPECT_EQ(guard_.begin("a", kLetter)->outcome.result, "the new one's");
}

TEST_F(GuardClaimTest, AStoreThatIsAwayIsAnErrorAndThenThereIsNoClaim) {
  plan_.fail_always(StoreCall::kClaim, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_EQ(guard_.begin("a", kLetter).error().kind, ErrorKind::kUnavailable);
  EXPECT_GT(plan_.fired(StoreCall::kClaim), 0U);
  plan_.clear();
  Guard quick(*store_, options(milliseconds(60)));
  GuardClaim held = claim(quick, "b");
  plan_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_EQ(held.complete().error().kind, ErrorKind::kInDoubt);
  EXPECT_GT(plan_.fired(StoreCall::kFinish), 0U);
  EXPECT_EQ(held.complete().error().kind, ErrorKind::kRejected);
}

TEST_F(GuardClaimTest, UnderAtMostOnceADroppedClaimWaitsForAPerson) {
  GuardOptions once = options();
  once.consumer = "letters-once";
  once.at_most_once = true;
  Guard guard(*store_, once);
  { const GuardClaim dropped = claim(guard); }
  const auto parked = guard.begin("a", kLetter);
  EXPECT_FALSE(parked->claim);
  EXPECT_EQ(parked->outcome.kind, Kind::kParked);
  EXPECT_EQ(parked->outcome.reason, reason::kOutcomeUnknown);
  EXPECT_EQ(claim(guard, "b").give_back("it was not sent")->kind, Kind::kRetry);
  EXPECT_EQ(claim(guard, "b").complete()->kind, Kind::kDone);
}

TEST_F(GuardClaimTest, WhereThereIsNoLeaseThereIsNoClaim) {
  strategies::ScriptedStore borrowed;
  borrowed.traits_.borrowed = true;
  Guard theirs(borrowed, options());
  EXPECT_EQ(theirs.begin("a", kLetter).error().kind, ErrorKind::kRejected);
  strategies::ScriptedStore own;
  GuardOptions stepping = options();
  stepping.steps = StepSpecs{{"lock"}};
  Guard steps(own, stepping);
  EXPECT_EQ(steps.begin("a", kLetter).error().kind, ErrorKind::kRejected);
}

TEST(OutcomeQuestions, AtMostOneIsAnsweredYes) {
  for (const Kind kind : {Kind::kDone, Kind::kDuplicate, Kind::kBusy, Kind::kConflict, Kind::kRetry,
                          Kind::kDead, Kind::kDiscarded, Kind::kParked}) {
    Outcome outcome;
    outcome.kind = kind;
    const int yes = static_cast<int>(outcome.effect_exists()) +
                    static_cast<int>(outcome.try_again()) + static_cast<int>(outcome.given_up());
    EXPECT_EQ(yes, kind == Kind::kDiscarded ? 0 : 1) << to_string(kind);
  }
}

}  // namespace
}  // namespace semel::guard
