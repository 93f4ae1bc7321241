#include <semel/guard.h>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include <semel/admin/records.h>
#include <semel/json.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "tests/conformance/strategy/scripted_store.h"
#include "tests/support/fault_store.h"

namespace semel {
namespace {

using std::chrono::milliseconds;
using strategies::ScriptedStore;
using test::StoreCall;
using test::When;
using Kind = Outcome::Kind;

const Fingerprint kBody = fingerprint_of("{\"amount\":5}");

GuardOptions payments() {
  GuardOptions options;
  options.consumer = "payments";
  return options;
}

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() : faulty_(test::make_fault_store(store_, faults_)), guard_(*faulty_, payments()) {}

  static auto effect(const std::string& name) {
    return [name](Transaction& tx) {
      tx.exec("INSERT INTO effect VALUES (?)", name);
      return done("r:" + name);
    };
  }

  ScriptedStore store_;
  test::FaultPlan faults_;
  std::unique_ptr<Store> faulty_;
  Guard guard_;
};

TEST_F(GuardTest, TransactionalWorkRunsOnceAndItsResultIsGivenAgain) {
  const auto first = guard_.run_once("a", kBody, effect("x"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Kind::kDone);
  EXPECT_EQ(first->result, "r:x");
  const auto second = guard_.run_once("a", kBody, effect("x"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, Kind::kDuplicate);
  EXPECT_EQ(second->result, "r:x");
  EXPECT_EQ(store_.state.effects["x"], 1);
  EXPECT_EQ(guard_.run_once("b", kBody, effect("x"))->kind, Kind::kDone) << "another key";
}

TEST_F(GuardTest, AConflictThatNothingKeepsIsLeftWithItsSource) {
  ASSERT_TRUE(guard_.run_once("a", kBody, effect("x")));
  const auto other = guard_.run_once("a", fingerprint_of("other"), effect("y"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->kind, Kind::kConflict);
  EXPECT_EQ(other->settle, Outcome::Settle::kLater);
  EXPECT_GT(other->delay, milliseconds(0));
  EXPECT_NE(other->error.find("nothing keeps this message"), std::string::npos) << other->error;
  EXPECT_EQ(store_.state.effects.count("y"), 0U);
  EXPECT_TRUE(store_.state.dead_letters.empty());
}

TEST_F(GuardTest, RetryRecordsNothingAndDeadClosesTheKey) {
  auto later = [](Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", "x");
    return retry("not yet", milliseconds(40));
  };
  const auto first = guard_.run_once("a", kBody, later);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Kind::kRetry);
  EXPECT_EQ(first->delay, milliseconds(40));
  EXPECT_TRUE(store_.state.effects.empty());
  EXPECT_EQ(guard_.run_once("a", kBody, [](Transaction&) { return dead("no"); })->kind,
            Kind::kDead);
  EXPECT_EQ(guard_.run_once("a", kBody, effect("x"))->kind, Kind::kDead);
  EXPECT_TRUE(store_.state.effects.empty());
}

TEST_F(GuardTest, TheKeyMayBeInTheJsonOfThePayload) {
  const auto run = [&](BytesView payload) -> std::string {
    const auto id = json_at(payload, "/order/id");
    if (!id) return id.error().code;                    // payload.invalid or key.invalid
    if (!*id) return std::string(reason::kKeyMissing);  // no such member, or a tombstone
    const auto outcome = guard_.run_once(**id, fingerprint_of(payload), effect("x"));
    return to_string(outcome.value().kind);
  };
  EXPECT_EQ(run(R"({"order":{"id":7}})"), "done");
  EXPECT_EQ(run(R"({"order":{"id":7}})"), "duplicate");
  EXPECT_EQ(run(R"({"order":{"id":"7"}})"), "conflict") << "the same key, as in a run";
  EXPECT_EQ(run(R"({"order":{}})"), "key.missing");
  EXPECT_EQ(run(R"({"order":{"id":null}})"), "key.invalid");
  EXPECT_EQ(run("{"), "payload.invalid");
}

TEST_F(GuardTest, AnExceptionUndoesAndPassesThrough) {
  EXPECT_THROW((void)guard_.run_once("a", kBody,
                                     [](Transaction& tx) {
                                       tx.exec("INSERT INTO effect VALUES (?)", "x");
                                       throw std::domain_error("the caller's own");
                                     }),
               std::domain_error);
  EXPECT_TRUE(store_.state.effects.empty());
  EXPECT_EQ(guard_.run_once("a", kBody, effect("x"))->kind, Kind::kDone);
}

TEST_F(GuardTest, AStatementThatFailsIsThrownAndADeclaredMissIsNot) {
  try {
    (void)guard_.run_once("a", kBody, [](Transaction& tx) { tx.exec("UPDATE broken SET x = 1"); });
    FAIL() << "nothing was thrown";
  } catch (const StatementFailed& thrown) {
    EXPECT_EQ(thrown.sql_class(), "constraint");
  }
  const auto missed = guard_.run_once("a", kBody, [](Transaction& tx) {
    tx.exec("INSERT INTO taken VALUES (1)").on_unique_violation("taken(id)", retry("later"));
  });
  ASSERT_TRUE(missed);
  EXPECT_EQ(missed->kind, Kind::kRetry);
  EXPECT_THROW((void)guard_.run_once("a", kBody, [](Transaction& tx) { tx.exec("COMMIT"); }),
               StatementRefused);
  EXPECT_EQ(guard_.run_once("a", kBody, effect("x"))->kind, Kind::kDone);
}

TEST_F(GuardTest, AStoreThatFailsIsAnErrorAndTheWorkDidNotRun) {
  int ran = 0;
  for (const StoreCall call : {StoreCall::kBegin, StoreCall::kUnitClaim}) {
    faults_.fail_always(call, ErrorKind::kUnavailable, When::kBefore);
    const auto outcome = guard_.run_once("a", kBody, [&](Transaction&) { ++ran; });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::kUnavailable);
    EXPECT_GT(faults_.fired(call), 0U);
    faults_.clear();
  }
  EXPECT_EQ(ran, 0);
}

TEST_F(GuardTest, ADoubtfulCommitIsAskedAbout) {
  for (const When when : {When::kAfter, When::kBefore}) {
    store_.state = {};
    faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, when);
    const auto outcome = guard_.run_once("a", kBody, effect("x"));
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, Kind::kDone);
    EXPECT_EQ(store_.state.effects["x"], 1);
  }
  store_.state = {};
  faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, When::kAfter);
  for (std::size_t n = 2; n < 20; ++n) {
    faults_.fail(StoreCall::kBegin, n, ErrorKind::kUnavailable, When::kBefore);
  }
  const auto unknown = guard_.run_once("a", kBody, effect("x"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kInDoubt);
  faults_.clear();
  EXPECT_EQ(guard_.run_once("a", kBody, effect("x"))->kind, Kind::kDuplicate);
  EXPECT_EQ(store_.state.effects["x"], 1);
}

TEST_F(GuardTest, PlainWorkIsLeasedAndItsFailureGivesTheKeyBack) {
  int ran = 0;
  EXPECT_THROW((void)guard_.run_once("a", kBody,
                                     [&] {
                                       ++ran;
                                       throw std::domain_error("away");
                                     }),
               std::domain_error);
  const auto outcome = guard_.run_once("a", kBody, [&](const Attempt& attempt) {
    ++ran;
    EXPECT_EQ(attempt.number, 1);
    EXPECT_NE(attempt.token, Token{});
    return done("r");
  });
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::kDone);
  EXPECT_EQ(guard_.run_once("a", kBody, [&] { ++ran; })->result, "r");
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(faults_.calls(StoreCall::kBegin), 0U);
}

TEST_F(GuardTest, PlainWorkWhoseRecordCannotBeWrittenIsInDoubt) {
  GuardOptions options = payments();
  options.lease = milliseconds(60);
  Guard quick(*faulty_, options);
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  const auto outcome = quick.run_once("a", kBody, [] {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kInDoubt);
  EXPECT_GT(faults_.fired(StoreCall::kFinish), 0U);
}

TEST_F(GuardTest, OnABorrowedConnectionAllWorkGoesThroughTheUnit) {
  store_.traits_.borrowed = true;
  int ran = 0;
  EXPECT_EQ(guard_.run_once("a", kBody, [&] { ++ran; })->kind, Kind::kDone);
  EXPECT_EQ(guard_.run_once("a", kBody, [&] { ++ran; })->kind, Kind::kDuplicate);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 0U);
  // Its changes on the connection itself are undone, although the key is closed.
  const std::size_t before = store_.begun.size();
  EXPECT_EQ(guard_.run_once("b", kBody, [] { return dead("no"); })->kind, Kind::kDead);
  EXPECT_EQ(store_.begun.size(), before + 2);
  EXPECT_EQ(guard_.run_once("b", kBody, [&] { ++ran; })->kind, Kind::kDead);
  EXPECT_EQ(ran, 1);
}

TEST_F(GuardTest, AKeyThatCannotBeIsGivenUpAndNothingIsRecorded) {
  const Bytes longest((64U << 10U) + 1, 'k');
  for (const BytesView key : {BytesView(), BytesView(longest)}) {
    const auto ended = guard_.run_once(key, kBody, effect("x"));
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->kind, Kind::kDead);
    EXPECT_TRUE(ended->given_up());
    EXPECT_EQ(ended->reason, key.empty() ? reason::kKeyInvalid : reason::kTooLarge);
    EXPECT_FALSE(ended->error.empty());
    EXPECT_FALSE(ended->closed_before) << "nothing remembers it";
    EXPECT_EQ(ended->settle, Outcome::Settle::kLater) << "only its source keeps it";
    EXPECT_EQ(ended->attempt, 0);
    const auto begun = guard_.begin(key, kBody);
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_FALSE(begun->claim);
    EXPECT_EQ(begun->outcome.reason, ended->reason);
  }
  EXPECT_EQ(faults_.calls(StoreCall::kBegin) + faults_.calls(StoreCall::kClaim), 0U);
  EXPECT_EQ(guard_.run_once(longest.substr(1), kBody, effect("x"))->kind, Kind::kDone);
}

TEST_F(GuardTest, OptionsAndNamesThatCannotBeAreRefused) {
  for (const char* name : {"", "Payments", "9lives", "with space"}) {
    EXPECT_THROW(Guard(store_, GuardOptions{name}), SemelError) << name;
  }
  for (const milliseconds lease : {milliseconds(0), milliseconds(-1), milliseconds::max(),
                                   milliseconds(std::chrono::hours(24)) + milliseconds(1)}) {
    GuardOptions lasting = payments();
    lasting.lease = lease;
    EXPECT_THROW(Guard(store_, lasting), SemelError) << lease.count();
  }
  for (const milliseconds ttl : {milliseconds(0), milliseconds(-5), milliseconds::max()}) {
    GuardOptions forgetful = payments();
    forgetful.ttl = ttl;
    EXPECT_THROW(Guard(store_, forgetful), SemelError) << ttl.count();
  }
  GuardOptions sends = payments();
  sends.receivers.emplace("mails", ConsumerNumber{7});
  EXPECT_THROW(Guard(store_, sends), SemelError) << "the store has no queues";
  GuardOptions once = payments();
  once.at_most_once = true;
  EXPECT_THROW(Guard(store_, once), SemelError) << "the store shows nobody what is parked";
  GuardOptions late = payments();
  late.timeout = milliseconds(-1);
  EXPECT_THROW(Guard(store_, late), SemelError);
  late.timeout = milliseconds(0);
  late.grace = milliseconds(-1);
  EXPECT_THROW(Guard(store_, late), SemelError);
  faults_.fail(StoreCall::kAttach, 1, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_THROW(Guard(*faulty_, payments()), SemelError);
  EXPECT_EQ(faults_.fired(StoreCall::kAttach), 1U);
}

TEST(GuardOnMemory, TwoThreadsWithOneKeyMakeOneEffect) {
  const auto store = make_memory_store();
  Guard guard(*store, payments());
  std::atomic<int> effects{0};
  std::atomic<int> busy{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        for (;;) {
          const auto outcome = guard.run_once("k" + std::to_string(i), kBody, [&] { ++effects; });
          ASSERT_TRUE(outcome);
          if (outcome->kind != Kind::kBusy) break;
          ++busy;
          std::this_thread::yield();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(effects, 200);
}

TEST(GuardOnMemory, WorkThatTakesATransactionIsRefused) {
  const auto store = make_memory_store();
  Guard guard(*store, payments());
  const auto outcome = guard.run_once("a", kBody, [](Transaction&) { return done(); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected);
  Guard moved = std::move(guard);
  EXPECT_EQ(moved.run_once("a", kBody, [] {})->kind, Kind::kDone);
}

}  // namespace
}  // namespace semel
