#include "tests/conformance/strategy/guard_suite.h"

#include <semel/guard.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/conformance/strategy/guard_batches.h"
#include "tests/conformance/strategy/guard_steps.h"
#include "tests/conformance/strategy/http_claims.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

GuardOptions orders() {
  GuardOptions options;
  options.consumer = "orders";
  return options;
}

namespace {

using Kind = Outcome::Kind;

TEST_P(GuardSuite, WorkInATransactionCommitsWithItsRecord) {
  const auto store = own_store();
  Guard guard(*store, orders());
  const auto work = [](Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", "a");
    return done("r");
  };
  EXPECT_EQ(guard.run_once("a", kBody, work)->kind, Kind::kDone);
  EXPECT_EQ(effects(), 1);
  const auto again = guard.run_once("a", kBody, work);
  EXPECT_EQ(again->kind, Kind::kDuplicate);
  EXPECT_EQ(again->result, "r");
  EXPECT_EQ(guard.run_once("a", fingerprint_of("other"), work)->kind, Kind::kConflict);
  EXPECT_THROW(
      (void)guard.run_once("b", kBody,
                           [](Transaction& tx) { tx.exec("INSERT INTO effect VALUES (NULL)"); }),
      StatementFailed);
  EXPECT_EQ(guard.run_once("b", kBody, work)->kind, Kind::kDone);
  EXPECT_EQ(effects(), 2);
}

TEST_P(GuardSuite, StepsThatAreDoneStayAndAreUndoneWhereItSaysDead) {
  const auto store = own_store();
  guard_keeps_steps(*store);
  guard_undoes_steps(*store);
}

TEST_P(GuardSuite, ABatchIsOneTransactionAndEachOfItHasItsOutcome) {
  const CallersTable table{[this](const std::string& sql) { run(sql); },
                           [this] { return effects(); }};
  const auto store = own_store();
  guard_batches_plain_work(*store);
  guard_batches_in_transactions(*store, table);
}

TEST_P(GuardSuite, TheCallersCommitDecidesAboutABatch) {
  const CallersTable table{[this](const std::string& sql) { run(sql); },
                           [this] { return effects(); }};
  const auto store = borrowed();
  guard_batches_under_the_callers_commit(*store, table);
}

TEST_P(GuardSuite, WorkMayGuardOtherWork) {
  const CallersTable table{[this](const std::string& sql) { run(sql); },
                           [this] { return effects(); }};
  const auto store = borrowed();
  guard_guards_in_its_work(*store, table);
}

TEST_P(GuardSuite, AKeyIsClaimedHereAndFinishedThere) {
  const auto store = own_store();
  guard_claims_and_finishes(*store);
}

TEST_P(GuardSuite, ClientsClaimOverHttp) {
  const auto store = own_store();
  claims_over_http(*store);
}

TEST_P(GuardSuite, AWindowAnswersWhatIsCompletedAndNothingElse) {
  const auto store = own_store();
  guard_behind_a_window(*store, make_memory_front());
}

TEST_P(GuardSuite, WhatNobodyKeepsIsLeftWithItsSource) {
  const auto store = own_store();
  guard_leaves_what_nobody_keeps(*store);
  const auto theirs = borrowed();
  Guard guard(*theirs, orders());
  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, [] {})->settle, Outcome::Settle::kAck);
  const auto conflict = guard.run_once("a", fingerprint_of("other"), [] {});
  run("COMMIT");
  EXPECT_EQ(conflict->kind, Kind::kConflict);
  EXPECT_EQ(conflict->settle, Outcome::Settle::kLater);
}

TEST_P(GuardSuite, WhatMayHaveHappenedIsParked) {
  const auto store = own_store();
  guard_tries_at_most_once(*store);
}

TEST_P(GuardSuite, TheCallersCommitDecidesAboutRecordAndWork) {
  const auto store = borrowed();
  const auto insert = [this] { run("INSERT INTO effect VALUES ('direct')"); };
  Guard guard(*store, orders());
  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone);
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDuplicate)
      << "in the same transaction";
  run("ROLLBACK");
  EXPECT_EQ(effects(), 0);

  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone) << "the record went too";
  run("COMMIT");
  EXPECT_EQ(effects(), 1);
  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDuplicate);
  run("COMMIT");
}

TEST_P(GuardSuite, WhatFailsOnABorrowedConnectionLeavesTheTransactionWhole) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("START TRANSACTION");
  run("INSERT INTO effect VALUES ('the caller''s own')");
  EXPECT_THROW((void)guard.run_once("a", kBody,
                                    [this] {
                                      run("INSERT INTO effect VALUES ('direct')");
                                      throw std::domain_error("no");
                                    }),
               std::domain_error);
  EXPECT_EQ(effects(), 1);
  EXPECT_THROW((void)guard.run_once("a", kBody,
                                    [](Transaction& tx) {
                                      tx.exec("INSERT INTO effect VALUES (?)", "fine");
                                      tx.query("SELECT nothing FROM nowhere");
                                    }),
               StatementFailed);
  EXPECT_EQ(effects(), 1);
  const auto never = guard.run_once("b", kBody, [this] {
    run("INSERT INTO effect VALUES ('direct')");
    return dead("never");
  });
  EXPECT_EQ(never->kind, Kind::kDead);
  EXPECT_EQ(effects(), 1) << "the key is closed, and what the work did is undone";
  EXPECT_EQ(
      guard
          .run_once("a", kBody,
                    [](Transaction& tx) { tx.exec("INSERT INTO effect VALUES (?)", "recorded"); })
          ->kind,
      Kind::kDone);
  EXPECT_TRUE(caller_->in_transaction()) << "it is still the caller's";
  run("COMMIT");
  EXPECT_EQ(effects(), 2);
}

TEST_P(GuardSuite, WithoutAnOpenTransactionABorrowedConnectionIsRefused) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  int ran = 0;
  const auto outcome = guard.run_once("a", kBody, [&] { ++ran; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(outcome.error().code, "R208");
  EXPECT_EQ(ran, 0);
}

TEST_P(GuardSuite, ALostConnectionIsUnavailableWhereverItIsNoticed) {
  enum class When { kBefore, kInTheWork, kInItsQuery };
  const auto other = place_->connect();
  for (const When when : {When::kBefore, When::kInTheWork, When::kInItsQuery}) {
    SCOPED_TRACE(static_cast<int>(when));
    caller_ = place_->connect();
    const auto store = borrowed();
    Guard guard(*store, orders());
    const std::vector<BatchMessage> batch{{"a", kBody}, {"b", kBody}};
    run("START TRANSACTION");
    if (when == When::kBefore) other->run(caller_->end_session());
    bool ended = when == When::kBefore;
    const auto lost = [&](std::size_t, Transaction& tx) {
      if (!std::exchange(ended, true)) other->run(caller_->end_session());
      if (when == When::kInItsQuery) tx.query("SELECT 1");
    };
    // The second time the client knows already.
    for (int i = 0; i < 2; ++i) {
      for (const auto& answer : guard.run_batch(batch, lost)) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable) << answer.error().message;
        EXPECT_EQ(answer.error().code, "R250") << answer.error().message;
        EXPECT_NE(answer.error().hint.find("begin the transaction again"), std::string::npos)
            << answer.error().hint;
      }
    }
  }
  caller_ = place_->connect();
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, [] {})->kind, Kind::kDone) << "nothing was recorded";
  run("COMMIT");
}

TEST_P(GuardSuite, AKeyThatCannotBeCostsNoNeighbourItsCommit) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  const std::vector<BatchMessage> batch{{"a", kBody}, {"", kBody}, {"b", kBody}};
  for (const Kind expected : {Kind::kDone, Kind::kDuplicate}) {
    run("START TRANSACTION");
    const auto answers = guard.run_batch(batch, [](std::size_t, Transaction& tx) {
      tx.exec("INSERT INTO effect VALUES (?)", "recorded");
    });
    run("COMMIT");
    EXPECT_EQ(answers[0]->kind, expected);
    EXPECT_EQ(answers[1]->kind, Kind::kDead);
    EXPECT_EQ(answers[1]->reason, "key.invalid");
    EXPECT_EQ(answers[2]->kind, expected);
    EXPECT_EQ(effects(), 2);
  }
}

TEST_P(GuardSuite, ABorrowedConnectionsRecordsAreForgottenByAStoreOfOnesOwn) {
  const auto store = borrowed();
  GuardOptions options = orders();
  options.ttl = std::chrono::milliseconds(1);
  Guard guard(*store, options);
  run("START TRANSACTION");
  ASSERT_EQ(guard.run_once("a", kBody, [] {})->kind, Kind::kDone);
  run("COMMIT");
  EXPECT_EQ(store->purge(std::chrono::milliseconds(200)).error().code, "R208");

  const auto keeper = own_store();
  std::size_t forgotten = 0;
  const auto sweep = [&] {
    for (bool more = true; more;) {
      const auto report = keeper->purge(std::chrono::milliseconds(200));
      if (report) forgotten += report->records;
      more = report && report->more;
    }
    return forgotten > 0;
  };
  ASSERT_TRUE(test::comes_true(sweep));
  run("START TRANSACTION");
  EXPECT_EQ(guard.run_once("a", kBody, [] {})->kind, Kind::kDone) << "it is new again";
  run("COMMIT");
}

// The caller may look at an older state of the database than its neighbours do.
TEST_P(GuardSuite, RaceOfTwoCallersAtEveryIsolationMakesOneEffect) {
  const auto mine = borrowed();
  Guard first(*mine, orders());
  for (const std::string level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    SCOPED_TRACE(level);
    const auto other = place_->connect();
    const auto theirs = opened(other->borrow());
    Guard second(*theirs, orders());
    caller_->begin(level);
    ASSERT_EQ(
        first.run_once(level, kBody, [this] { run("INSERT INTO effect VALUES ('x')"); })->kind,
        Kind::kDone);
    std::atomic<bool> done_twice = false;
    std::jthread twin([&] {
      other->begin(level);
      // Its snapshot is as old as this.
      EXPECT_EQ(other->ask("SELECT 1 + count(*) FROM effect WHERE name = 'none'"), "1");
      const auto outcome = second.run_once(level, kBody, [&] { done_twice = true; });
      if (outcome || !place_->may_ask_again()) {
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_EQ(outcome->kind, Kind::kDuplicate);
      }
      other->run(outcome ? "COMMIT" : "ROLLBACK");
    });
    EXPECT_TRUE(test::comes_true([this] { return place_->somebody_waits(); }));
    run("COMMIT");
    twin.join();
    EXPECT_FALSE(done_twice);
  }
  EXPECT_EQ(effects(), 3);
}

}  // namespace
}  // namespace semel::conformance
