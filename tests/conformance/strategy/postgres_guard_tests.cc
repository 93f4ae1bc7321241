// Guard over PostgreSQL: a store of ours, and the caller's own connection with its open
// transaction.
#include <semel/guard.h>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <semel/postgres.h>

#include "tests/support/postgres_server.h"

namespace semel {
namespace {

using Kind = Outcome::Kind;

const Fingerprint kBody = fingerprint_of("body");

class GuardOnPostgres : public ::testing::Test {
 protected:
  GuardOnPostgres()
      : url_(test::PostgresServer::shared().url(test::PostgresServer::shared().new_database())),
        connection_(PQconnectdb(url_.c_str())) {
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
    run("CREATE TABLE effect (name text NOT NULL)");
  }
  ~GuardOnPostgres() override { PQfinish(connection_); }

  void run(const std::string& sql) { run_on(connection_, sql); }
  static void run_on(PGconn* connection, const std::string& sql) {
    PGresult* const result = PQexec(connection, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQresultErrorMessage(result);
    PQclear(result);
  }
  int effects() {
    PGresult* const result = PQexec(connection_, "SELECT count(*) FROM effect");
    const int count = std::atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return count;
  }
  static GuardOptions orders() {
    GuardOptions options;
    options.consumer = "orders";
    return options;
  }
  std::unique_ptr<Store> own_store() {
    PostgresOptions options;
    options.url = url_;
    auto store = open_postgres(std::move(options));
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }
  std::unique_ptr<Store> borrowed() { return borrowed_from(connection_); }
  static std::unique_ptr<Store> borrowed_from(PGconn* connection) {
    PostgresBorrow options;
    options.create_tables = true;
    auto store = borrow_postgres(connection, options);
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  std::string url_;
  PGconn* connection_;
};

TEST_F(GuardOnPostgres, WorkInATransactionCommitsWithItsRecord) {
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

TEST_F(GuardOnPostgres, TheCallersCommitDecidesAboutRecordAndWork) {
  const auto store = borrowed();
  const auto insert = [this] { run("INSERT INTO effect VALUES ('direct')"); };
  Guard guard(*store, orders());
  run("BEGIN");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone);
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDuplicate)
      << "in the same transaction";
  run("ROLLBACK");
  EXPECT_EQ(effects(), 0);

  run("BEGIN");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone) << "the record went too";
  run("COMMIT");
  EXPECT_EQ(effects(), 1);
  run("BEGIN");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDuplicate);
  run("COMMIT");
}

TEST_F(GuardOnPostgres, WhatFailsOnABorrowedConnectionLeavesTheTransactionWhole) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("BEGIN");
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
  EXPECT_EQ(PQtransactionStatus(connection_), PQTRANS_INTRANS) << "it is still the caller's";
  EXPECT_EQ(PQpipelineStatus(connection_), PQ_PIPELINE_OFF);
  run("COMMIT");
  EXPECT_EQ(effects(), 2);
}

TEST_F(GuardOnPostgres, WithoutAnOpenTransactionABorrowedConnectionIsRefused) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  int ran = 0;
  const auto outcome = guard.run_once("a", kBody, [&] { ++ran; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(outcome.error().code, "R208");
  EXPECT_EQ(ran, 0);
}

// The caller may look at an older state of the database than its neighbours do.
TEST_F(GuardOnPostgres, TwoCallersAtEveryIsolationMakeOneEffect) {
  for (const char* level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    SCOPED_TRACE(level);
    PGconn* const other = PQconnectdb(url_.c_str());
    const auto mine = borrowed();
    const auto theirs = borrowed_from(other);
    Guard first(*mine, orders());
    Guard second(*theirs, orders());
    const std::string key = level;
    run("BEGIN ISOLATION LEVEL " + std::string(level));
    ASSERT_EQ(first.run_once(key, kBody, [this] { run("INSERT INTO effect VALUES ('x')"); })->kind,
              Kind::kDone);
    bool done_twice = false;
    std::jthread twin([&] {
      run_on(other, "BEGIN ISOLATION LEVEL " + std::string(level));
      const auto outcome = second.run_once(key, kBody, [&] { done_twice = true; });
      // At the stricter levels PostgreSQL may ask for the whole transaction once more.
      if (outcome) {
        EXPECT_EQ(outcome->kind, Kind::kDuplicate);
      }
      run_on(other, outcome ? "COMMIT" : "ROLLBACK");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    run("COMMIT");
    twin.join();
    EXPECT_FALSE(done_twice);
    PQfinish(other);
  }
  EXPECT_EQ(effects(), 3);
}

}  // namespace
}  // namespace semel
