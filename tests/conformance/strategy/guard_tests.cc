// Guard over SQLite: a store of ours, and the caller's own connection with its open transaction.
#include <semel/guard.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <stdexcept>
#include <thread>

#include <semel/admin/records.h>
#include <semel/memory.h>
#include <semel/sqlite.h>

#include "tests/conformance/strategy/guard_batches.h"
#include "tests/conformance/strategy/guard_steps.h"
#include "tests/conformance/strategy/guard_suite.h"
#include "tests/conformance/strategy/http_claims.h"
#include "tests/support/temp_dir.h"

namespace semel {
namespace {

using conformance::kBody;
using Kind = Outcome::Kind;

class GuardOnSqlite : public ::testing::Test {
 protected:
  GuardOnSqlite() {
    EXPECT_EQ(sqlite3_open(dir_.file("app.db").c_str(), &connection_), SQLITE_OK);
    sqlite3_busy_timeout(connection_, 5'000);
    run("PRAGMA journal_mode = WAL; CREATE TABLE effect (name TEXT NOT NULL)");
  }
  ~GuardOnSqlite() override { sqlite3_close(connection_); }

  void run(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << sql << ": " << error;
    sqlite3_free(error);
  }
  int effects() {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(connection_, "SELECT count(*) FROM effect", -1, &statement, nullptr);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
  }
  static GuardOptions orders() {
    GuardOptions options;
    options.consumer = "orders";
    return options;
  }
  std::unique_ptr<Store> own_store() {
    SqliteOptions options;
    options.path = dir_.file("app.db");
    auto store = open_sqlite(std::move(options));
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }
  // The tables are there, and a transaction of the caller's is open.
  std::unique_ptr<Store> borrowed() {
    auto store = borrow_sqlite(connection_, {.create_tables = true});
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  test::TempDir dir_;
  sqlite3* connection_ = nullptr;
};

TEST_F(GuardOnSqlite, StepsThatAreDoneStayAndAreUndoneWhereItSaysDead) {
  const auto store = own_store();
  conformance::guard_keeps_steps(*store);
  conformance::guard_undoes_steps(*store);
}

TEST_F(GuardOnSqlite, ABatchIsOneTransactionAndEachOfItHasItsOutcome) {
  const auto store = own_store();
  conformance::guard_batches_plain_work(*store);
  conformance::guard_batches_in_transactions(
      *store, {[this](const std::string& sql) { run(sql); }, [this] { return effects(); }});
}

TEST_F(GuardOnSqlite, TheCallersCommitDecidesAboutABatch) {
  run("BEGIN");
  const auto store = borrowed();
  run("COMMIT");
  conformance::guard_batches_under_the_callers_commit(
      *store, {[this](const std::string& sql) { run(sql); }, [this] { return effects(); }});
}

TEST_F(GuardOnSqlite, WorkMayGuardOtherWork) {
  run("BEGIN");
  const auto store = borrowed();
  run("COMMIT");
  conformance::guard_guards_in_its_work(
      *store, {[this](const std::string& sql) { run(sql); }, [this] { return effects(); }});
}

TEST_F(GuardOnSqlite, AKeyIsClaimedHereAndFinishedThere) {
  const auto store = own_store();
  conformance::guard_claims_and_finishes(*store);
}

TEST_F(GuardOnSqlite, ClientsClaimOverHttp) {
  const auto store = own_store();
  conformance::claims_over_http(*store);
}

TEST_F(GuardOnSqlite, WhatMayHaveHappenedIsParked) {
  const auto store = own_store();
  conformance::guard_tries_at_most_once(*store);
}

TEST_F(GuardOnSqlite, WhatNobodyKeepsIsLeftWithItsSource) {
  const auto store = own_store();
  conformance::guard_leaves_what_nobody_keeps(*store);
}

TEST_F(GuardOnSqlite, AConflictOnABorrowedConnectionIsLeftWithItsSource) {
  const auto store = borrowed();
  run("BEGIN IMMEDIATE");
  Guard guard(*store, orders());
  EXPECT_EQ(guard.run_once("a", kBody, [] {})->settle, Outcome::Settle::kAck);
  const auto conflict = guard.run_once("a", fingerprint_of("other"), [] {});
  run("COMMIT");
  EXPECT_EQ(conflict->kind, Kind::kConflict);
  EXPECT_EQ(conflict->settle, Outcome::Settle::kLater);
}

TEST_F(GuardOnSqlite, AWindowAnswersWhatIsCompletedAndNothingElse) {
  const auto store = own_store();
  conformance::guard_behind_a_window(*store, make_memory_front());
}

TEST_F(GuardOnSqlite, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [](Store& store, const GuardOptions& options) {
    EXPECT_THROW(Guard(store, options), SemelError);
  };
  const auto store = own_store();
  GuardOptions options = orders();
  options.steps = StepSpecs{{"lock"}, {"lock"}};
  refused(*store, options);
  options.steps = StepSpecs{{"lock"}};
  options.at_most_once = true;
  refused(*store, options);
  run("BEGIN");
  const auto theirs = borrowed();
  refused(*theirs, options);
  options = orders();
  options.front = make_memory_front();
  refused(*theirs, options);
  run("ROLLBACK");
}

TEST_F(GuardOnSqlite, WorkInATransactionCommitsWithItsRecord) {
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
  EXPECT_THROW((void)guard.run_once("b", kBody,
                                    [](Transaction& tx) {
                                      tx.exec("INSERT INTO effect VALUES (?)", "b");
                                      throw std::domain_error("no");
                                    }),
               std::domain_error);
  EXPECT_THROW(
      (void)guard.run_once("b", kBody,
                           [](Transaction& tx) { tx.exec("INSERT INTO effect VALUES (NULL)"); }),
      StatementFailed);
  EXPECT_EQ(effects(), 1);
  EXPECT_EQ(guard.run_once("b", kBody, work)->kind, Kind::kDone);
  EXPECT_EQ(effects(), 2);
}

TEST_F(GuardOnSqlite, RaceOfThreadsOnTheSameKeysMakesOneEffectEach) {
  const auto store = own_store();
  Guard guard(*store, orders());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        const auto outcome = guard.run_once("k" + std::to_string(i), kBody, [](Transaction& tx) {
          tx.exec("INSERT INTO effect VALUES ('x')");
        });
        ASSERT_TRUE(outcome) << outcome.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(effects(), 30);
}

TEST_F(GuardOnSqlite, PlainWorkIsLeasedOnAStoreOfOurs) {
  const auto store = own_store();
  Guard guard(*store, orders());
  int ran = 0;
  EXPECT_EQ(guard.run_once("a", kBody, [&] { ++ran; })->kind, Kind::kDone);
  EXPECT_EQ(guard.run_once("a", kBody, [&] { ++ran; })->kind, Kind::kDuplicate);
  EXPECT_EQ(ran, 1);
}

TEST_F(GuardOnSqlite, TheCallersCommitDecidesAboutRecordAndWork) {
  const auto store = borrowed();
  const auto insert = [this] { run("INSERT INTO effect VALUES ('direct')"); };
  run("BEGIN IMMEDIATE");
  Guard guard(*store, orders());
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone);
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDuplicate)
      << "in the same transaction";
  run("ROLLBACK");
  EXPECT_EQ(effects(), 0);

  run("BEGIN IMMEDIATE");
  Guard later(*store, orders());
  EXPECT_EQ(later.run_once("a", kBody, insert)->kind, Kind::kDone) << "the record went too";
  run("COMMIT");
  EXPECT_EQ(effects(), 1);
  run("BEGIN IMMEDIATE");
  EXPECT_EQ(later.run_once("a", kBody, insert)->kind, Kind::kDuplicate);
  run("COMMIT");
  EXPECT_EQ(effects(), 1);
}

TEST_F(GuardOnSqlite, UnderTheCallersTransactionWhatFailsIsUndoneAndTheRestStays) {
  const auto store = borrowed();
  run("BEGIN IMMEDIATE; INSERT INTO effect VALUES ('the caller''s own')");
  Guard guard(*store, orders());
  EXPECT_THROW((void)guard.run_once("a", kBody,
                                    [this] {
                                      run("INSERT INTO effect VALUES ('direct')");
                                      throw std::domain_error("no");
                                    }),
               std::domain_error);
  EXPECT_EQ(effects(), 1);
  const auto later = guard.run_once("a", kBody, [this] {
    run("INSERT INTO effect VALUES ('direct')");
    return retry("not yet");
  });
  EXPECT_EQ(later->kind, Kind::kRetry);
  EXPECT_EQ(effects(), 1);
  const auto never = guard.run_once("b", kBody, [this] {
    run("INSERT INTO effect VALUES ('direct')");
    return dead("never");
  });
  EXPECT_EQ(never->kind, Kind::kDead);
  EXPECT_EQ(effects(), 1) << "the key is closed, and what the work did is undone";
  EXPECT_EQ(guard.run_once("b", kBody, [] {})->kind, Kind::kDead);
  EXPECT_EQ(
      guard
          .run_once("a", kBody,
                    [](Transaction& tx) { tx.exec("INSERT INTO effect VALUES (?)", "recorded"); })
          ->kind,
      Kind::kDone);
  EXPECT_EQ(sqlite3_get_autocommit(connection_), 0) << "the transaction is still the caller's";
  run("COMMIT");
  EXPECT_EQ(effects(), 2);
}

TEST_F(GuardOnSqlite, WithoutAnOpenTransactionABorrowedConnectionIsRefused) {
  const auto store = borrowed();
  run("BEGIN IMMEDIATE");
  Guard guard(*store, orders());
  run("COMMIT");
  int ran = 0;
  const auto outcome = guard.run_once("a", kBody, [&] { ++ran; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(outcome.error().code, "R208");
  EXPECT_EQ(ran, 0);
}

TEST_F(GuardOnSqlite, WorkThatEndsTheCallersTransactionIsToldSo) {
  const auto store = borrowed();
  run("BEGIN IMMEDIATE");
  Guard guard(*store, orders());
  const auto outcome = guard.run_once("a", kBody, [&] { run("COMMIT"); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, "R208");
  EXPECT_NE(outcome.error().message.find("ended within the work"), std::string::npos)
      << outcome.error().message;
}

TEST(GuardOnMemoryStore, BatchesAndClaims) {
  const auto store = make_memory_store();
  conformance::guard_batches_plain_work(*store);
  conformance::guard_claims_and_finishes(*store);
  conformance::claims_over_http(*store);
}

}  // namespace
}  // namespace semel
