// Statements that stay prepared on a borrowed connection, and what else may happen to that.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <semel/guard.h>
#include <semel/postgres.h>

#include "tests/support/pooled_database.h"
#include "tests/support/postgres_server.h"

namespace semel::conformance {
namespace {

class PreparedOnBorrowed : public testing::Test {
 protected:
  PreparedOnBorrowed() {
    ask("CREATE TABLE effect (name text NOT NULL, n int NOT NULL)");
    store_ = borrow(true);
  }
  ~PreparedOnBorrowed() override {
    store_.reset();
    PQfinish(connection_);
  }

  std::unique_ptr<Store> borrow(bool prepares) {
    PostgresBorrow options;
    options.create_tables = true;
    options.prepare_statements = prepares;
    auto store = borrow_postgres(connection_, options);
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }
  // The first field of the first row.
  std::string ask(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQresultErrorMessage(result);
    std::string first = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return first;
  }
  int prepared() { return std::stoi(ask("SELECT count(*) FROM pg_prepared_statements")); }
  int effects() { return std::stoi(ask("SELECT count(*) FROM effect")); }

  // A batch of new keys, in a transaction of its own. How often work was called.
  int handle(Guard& guard, std::int64_t n = 1) {
    std::vector<std::string> keys;
    std::vector<BatchMessage> batch;
    for (int i = 0; i < kBatch; ++i) keys.push_back(fmt::format("key {}", ++keys_));
    for (const std::string& key : keys) batch.push_back({key, fingerprint_of(key)});
    int calls = 0;
    ask("BEGIN");
    const auto answers = guard.run_batch(batch, [&](std::size_t i, Transaction& tx) {
      ++calls;
      tx.exec("INSERT INTO effect VALUES (?, ?)", keys[i], n);
    });
    ask("COMMIT");
    for (const auto& answer : answers) {
      EXPECT_TRUE(answer) << answer.error().message;
      if (answer) {
        EXPECT_EQ(answer->kind, Outcome::Kind::kDone) << answer->error;
      }
    }
    EXPECT_EQ(effects(), keys_);
    return calls;
  }
  static GuardOptions consumer() { return {.consumer = "orders"}; }

  static constexpr int kBatch = 4;
  const test::PooledDatabase database_{test::PostgresServer::shared()};
  PGconn* const connection_ = PQconnectdb(database_.url().c_str());
  std::unique_ptr<Store> store_;
  int keys_ = 0;
};

TEST_F(PreparedOnBorrowed, EachStatementOnceAndNoneWithoutTheOption) {
  const auto plain = borrow(false);
  Guard unprepared(*plain, consumer());
  handle(unprepared);
  EXPECT_EQ(prepared(), 0);
  Guard guard(*store_, consumer());
  handle(guard);
  const int first = prepared();
  EXPECT_GT(first, 0);
  EXPECT_EQ(handle(guard), kBatch);
  EXPECT_EQ(handle(guard), kBatch);
  EXPECT_EQ(prepared(), first);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_prepared_statements WHERE name NOT LIKE 'semel\\_%'"),
            "0");
  EXPECT_EQ(ask("SELECT generic_plans + custom_plans FROM pg_prepared_statements "
                "WHERE statement LIKE 'INSERT INTO effect%'"),
            std::to_string(3 * kBatch));
}

TEST_F(PreparedOnBorrowed, AnotherStoreOnTheConnectionUsesTheSame) {
  Guard guard(*store_, consumer());
  handle(guard);
  const int first = prepared();
  for (int i = 0; i < 3; ++i) {
    const auto other = borrow(true);
    Guard theirs(*other, consumer());
    EXPECT_EQ(handle(theirs), kBatch);
  }
  EXPECT_EQ(prepared(), first);
  EXPECT_EQ(handle(guard), kBatch);
}

// One prepares what the other does not know of.
TEST_F(PreparedOnBorrowed, TwoStoresInTurnMeetNoNameTwice) {
  const auto other = borrow(true);
  Guard mine(*store_, consumer()), theirs(*other, consumer());
  for (int i = 0; i < 3; ++i) {
    handle(mine);
    handle(theirs);
  }
  EXPECT_EQ(handle(mine), kBatch);
  EXPECT_EQ(handle(theirs), kBatch);
}

TEST_F(PreparedOnBorrowed, ItsOwnerMayDiscardThem) {
  Guard guard(*store_, consumer());
  handle(guard);
  const int first = prepared();
  ask("DISCARD ALL");
  EXPECT_GT(handle(guard), 0);
  EXPECT_EQ(prepared(), first) << "they are prepared again";
  EXPECT_EQ(handle(guard), kBatch);
  // As behind a pooler: where it happens all the time, nothing is prepared any more.
  for (int i = 0; i < 20; ++i) {
    ask("DISCARD ALL");
    handle(guard);
  }
  EXPECT_EQ(prepared(), 0);
  EXPECT_EQ(handle(guard), kBatch);
}

TEST_F(PreparedOnBorrowed, WorkMayForgetThemToo) {
  Guard guard(*store_, consumer());
  handle(guard);
  std::vector<BatchMessage> batch{{"a", fingerprint_of("a")}, {"b", fingerprint_of("b")}};
  bool forgotten = false;
  ask("BEGIN");
  const auto answers = guard.run_batch(batch, [&](std::size_t, Transaction& tx) {
    if (!std::exchange(forgotten, true)) ask("DEALLOCATE ALL");
    tx.exec("INSERT INTO effect VALUES ('x', 1)");
  });
  ask("COMMIT");
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->kind, Outcome::Kind::kDone);
  }
  EXPECT_EQ(effects(), keys_ + 2);
}

TEST_F(PreparedOnBorrowed, ATableThatChangedIsNoErrorOfTheWork) {
  Guard guard(*store_, consumer());
  handle(guard);
  ask("ALTER TABLE effect ALTER COLUMN n TYPE bigint");
  handle(guard, std::int64_t{1} << 40);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_prepared_statements "
                "WHERE statement LIKE 'INSERT INTO effect%'"),
            "1")
      << "the old one is gone";
  EXPECT_EQ(handle(guard, std::int64_t{1} << 40), kBatch);
}

TEST_F(PreparedOnBorrowed, AStatementThatCannotBePreparedFailsItsMessageAlone) {
  Guard guard(*store_, consumer());
  handle(guard);
  std::vector<BatchMessage> batch{{"a", fingerprint_of("a")}, {"b", fingerprint_of("b")}};
  for (int i = 0; i < 3; ++i) {
    ask("BEGIN");
    const auto answers = guard.run_batch(batch, [&](std::size_t at, Transaction& tx) {
      tx.exec(at == 0 ? "INSERT INTO effect VALUES ('x', 1)" : "INSERT INTO nowhere VALUES (1)");
    });
    ask("COMMIT");
    ASSERT_TRUE(answers[0] && answers[1]);
    EXPECT_EQ(answers[0]->kind, i == 0 ? Outcome::Kind::kDone : Outcome::Kind::kDuplicate);
    EXPECT_EQ(answers[1]->kind, Outcome::Kind::kRetry);
  }
  EXPECT_EQ(effects(), keys_ + 1);
}

TEST_F(PreparedOnBorrowed, AConnectionThatWasResetIsAnotherSession) {
  Guard guard(*store_, consumer());
  handle(guard);
  const int first = prepared();
  PQreset(connection_);
  EXPECT_EQ(prepared(), 0);
  EXPECT_EQ(handle(guard), kBatch) << "that is known before anything is sent";
  EXPECT_EQ(prepared(), first);
}

TEST_F(PreparedOnBorrowed, WorkThatBuildsItsTextsPreparesNoEndOfThem) {
  Guard guard(*store_, consumer());
  constexpr int kTexts = 1'500;
  for (int i = 0; i < kTexts; i += 100) {
    std::vector<std::string> keys;
    std::vector<BatchMessage> batch;
    for (int k = i; k < i + 100; ++k) keys.push_back(fmt::format("text {}", k));
    for (const std::string& key : keys) batch.push_back({key, fingerprint_of(key)});
    ask("BEGIN");
    for (const auto& answer : guard.run_batch(batch, [&](std::size_t at, Transaction&tx) {
           tx.exec(fmt::format("INSERT INTO effect VALUES ('{}', 1)", keys[at]));
         })) {
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->kind, Outcome::Kind::kDone);
    }
    ask("COMMIT");
  }
  EXPECT_EQ(effects(), kTexts);
  EXPECT_LE(prepared(), 1'024);
}

}  // namespace
}  // namespace semel::conformance
