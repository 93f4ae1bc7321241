// Guard on a connection lent by MariaDB's or MySQL's caller, when the server, or the work, rolls
// back its open transaction.
#include <fmt/format.h>
#include <semel/guard.h>

#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/conformance/strategy/mysql_caller.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using Kind = Outcome::Kind;

class UndoneOnMySql : public GuardOnMySql {
 protected:
  bool somebody_waits() const { return server_.lock_waiters(database_) > 0; }
};

// Two rows, of which this one has the second and the other the first; each wants both. The
// other has changed more: this one is undone.
class Deadlock {
 public:
  Deadlock(MySqlCaller& other, const std::function<bool()>& waits) {
    other.run("START TRANSACTION");
    for (int i = 0; i < 50; ++i) {
      other.run(fmt::format("INSERT INTO stock VALUES ({}, 0)", 100 + i));
    }
    other.run("UPDATE stock SET amount = 0 WHERE item = 1");
    waiting_ = std::jthread([&other] {
      EXPECT_EQ(other.refused("UPDATE stock SET amount = 0 WHERE item = 2"), 0U);
      other.run("ROLLBACK");
    });
    EXPECT_TRUE(test::comes_true(waits));
  }

 private:
  std::jthread waiting_;
};

TEST_P(UndoneOnMySql, AKeyInAnothersHandsIsBusyAndTheTransactionGoesOn) {
  const auto mine = borrowed();
  const auto theirs = opened(other_.borrow());
  Guard guard(*mine, orders());
  Guard holder(*theirs, orders());
  run("SET SESSION innodb_lock_wait_timeout = 1");
  other_.run("START TRANSACTION");
  ASSERT_EQ(holder.run_once("k", kBody, [] {})->kind, Kind::kDone);
  run("START TRANSACTION");
  run("INSERT INTO effect(name) VALUES ('the caller''s own')");
  const auto busy = guard.run_once("k", kBody, [] { FAIL(); });
  ASSERT_TRUE(busy.has_value()) << busy.error().message;
  EXPECT_EQ(busy->kind, Kind::kBusy);
  EXPECT_TRUE(caller_.in_transaction());
  other_.run("ROLLBACK");
  EXPECT_EQ(guard.run_once("k", kBody, [] {})->kind, Kind::kDone);
  run("COMMIT");
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(records(), "1");
}

TEST_P(UndoneOnMySql, OfABatchTheKeyInAnothersHandsAloneIsBusy) {
  const auto mine = borrowed();
  const auto theirs = opened(other_.borrow());
  Guard guard(*mine, orders());
  Guard holder(*theirs, orders());
  run("START TRANSACTION");
  ASSERT_EQ(guard.run_once("before", kBody, [] {})->kind, Kind::kDone);
  run("COMMIT");
  run("SET SESSION innodb_lock_wait_timeout = 1");
  other_.run("START TRANSACTION");
  ASSERT_EQ(holder.run_once("held", kBody, [] {})->kind, Kind::kDone);
  run("START TRANSACTION");
  const std::vector<BatchMessage> batch{
      {"a", kBody}, {"held", kBody}, {"before", kBody}, {"z", kBody}};
  const auto answers = guard.run_batch(batch, [](std::size_t, Transaction& tx) {
    tx.exec("INSERT INTO effect(name) VALUES ('x')");
  });
  run("COMMIT");
  other_.run("ROLLBACK");
  const Kind expected[] = {Kind::kDone, Kind::kBusy, Kind::kDuplicate, Kind::kDone};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_EQ(answers[i]->kind, expected[i]) << i;
  }
  EXPECT_EQ(effects(), "2");
  EXPECT_EQ(records(), "3");
}

TEST_P(UndoneOnMySql, AStatementThatWaitsInVainUndoesItsOwnWorkAlone) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("SET SESSION innodb_lock_wait_timeout = 1");
  other_.run("START TRANSACTION");
  other_.run("UPDATE stock SET amount = 0 WHERE item = 1");
  run("START TRANSACTION");
  run("INSERT INTO effect(name) VALUES ('the caller''s own')");
  const auto blocked = guard.run_once("k", kBody, [](Transaction& tx) {
    tx.exec("INSERT INTO effect(name) VALUES ('the work''s')");
    tx.exec("UPDATE stock SET amount = amount - 1 WHERE item = 1");
  });
  ASSERT_TRUE(!blocked || blocked->kind == Kind::kBusy);
  EXPECT_TRUE(caller_.in_transaction());
  other_.run("ROLLBACK");
  run("COMMIT");
  EXPECT_EQ(other_.ask("SELECT GROUP_CONCAT(name) FROM effect"), "the caller's own");
  EXPECT_EQ(records(), "0");
}

TEST_P(UndoneOnMySql, ADeadlockIsToldAsTheEndOfTheWholeTransaction) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const char* const autocommit : {"1", "0"}) {
    SCOPED_TRACE(autocommit);
    run(fmt::format("SET SESSION autocommit = {}", autocommit));
    run("START TRANSACTION");
    run("INSERT INTO effect(name) VALUES ('the caller''s own')");
    run("UPDATE stock SET amount = 5 WHERE item = 2");
    {
      const Deadlock deadlock(other_, [this] { return somebody_waits(); });
      int ran = 0;
      expect_r208(guard.run_once("k", kBody, [&ran](Transaction& tx) {
        ++ran;
        tx.exec("UPDATE stock SET amount = amount - 1 WHERE item = 1");
      }));
      EXPECT_EQ(ran, 1) << "not again, without what came before it";
      EXPECT_FALSE(caller_.in_transaction());
    }
    run("COMMIT");
    EXPECT_EQ(effects(), "0");
    EXPECT_EQ(records(), "0");
    EXPECT_EQ(other_.ask("SELECT amount FROM stock WHERE item = 2"), "10");
  }
}

TEST_P(UndoneOnMySql, AfterADeadlockThatTheWorkHidNothingIsRecorded) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const bool closes : {false, true}) {
    run("START TRANSACTION");
    run("UPDATE stock SET amount = 5 WHERE item = 2");
    {
      const Deadlock deadlock(other_, [this] { return somebody_waits(); });
      expect_r208(guard.run_once("k", kBody, [&] {
        EXPECT_EQ(caller_.refused("UPDATE stock SET amount = amount - 1 WHERE item = 1"), 1213U);
        return closes ? dead("never") : done();
      }));
      EXPECT_FALSE(caller_.in_transaction());
    }
    run("COMMIT");
    EXPECT_EQ(records(), "0");
  }
}

TEST_P(UndoneOnMySql, WorkThatEndsTheTransactionIsTold) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const std::string end : {"ROLLBACK", "ROLLBACK AND CHAIN"}) {
    run("START TRANSACTION");
    expect_r208(guard.run_once("k", kBody, [&] { run(end); }));
    run("COMMIT");
    EXPECT_EQ(records(), "0") << end;
  }
}

// The work cannot be undone then, and the caller's commit must not keep it.
TEST_P(UndoneOnMySql, AnAnswerThatWorkLeftUnreadEndsTheSession) {
  for (const bool fails : {true, false}) {
    SCOPED_TRACE(fails);
    MySqlCaller caller(server_, database_);
    const auto store = opened(caller.borrow());
    Guard guard(*store, orders());
    caller.run("START TRANSACTION");
    MYSQL_RES* unread = nullptr;
    const auto work = [&] {
      caller.run("INSERT INTO effect(name) VALUES ('direct')");
      EXPECT_EQ(caller.refused("SELECT item FROM stock"), 0U);
      unread = mysql_use_result(caller.handle());
      if (fails) throw std::domain_error("no");
    };
    if (fails) {
      EXPECT_THROW((void)guard.run_once("k", kBody, work), std::domain_error);
    } else {
      expect_r208(guard.run_once("k", kBody, work));
    }
    mysql_free_result(unread);
    EXPECT_NE(caller.refused("COMMIT"), 0U);
    EXPECT_EQ(effects(), "0");
    EXPECT_EQ(records(), "0");
  }
}

TEST_P(UndoneOnMySql, AnAnswerThatIsUnreadBeforeIsToldAndHarmsNothing) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("START TRANSACTION");
  run("INSERT INTO effect(name) VALUES ('the caller''s own')");
  ASSERT_EQ(caller_.refused("SELECT item FROM stock"), 0U);
  MYSQL_RES* const unread = mysql_use_result(caller_.handle());
  expect_r208(guard.run_once("k", kBody, [] { FAIL(); }));
  mysql_free_result(unread);
  EXPECT_EQ(guard.run_once("k", kBody, [] {})->kind, Kind::kDone);
  run("COMMIT");
  EXPECT_EQ(effects(), "1");
}

INSTANTIATE_TEST_SUITE_P(Servers, UndoneOnMySql, testing::ValuesIn(mysql_served()),
                         testing::PrintToStringParamName());

// innodb_rollback_on_timeout: then a wait in vain ends the whole transaction.
TEST(GuardOnStrictMariaDb, AWaitInVainIsToldAsTheServerMeansIt) {
  test::MariaDbServer::Options options = test::MariaDbServer::fast();
  options.arguments.emplace_back("--innodb-rollback-on-timeout=ON");
  options.arguments.emplace_back("--innodb-lock-wait-timeout=1");
  const test::MariaDbServer server(options);
  const std::string database = server.new_database();
  MySqlCaller caller(server, database), other(server, database);
  caller.run("CREATE TABLE effect (name TEXT)");
  const auto mine = caller.borrow().value();
  const auto theirs = other.borrow().value();
  Guard guard(*mine, orders());
  Guard holder(*theirs, orders());
  other.run("START TRANSACTION");
  ASSERT_EQ(holder.run_once("k", kBody, [] {})->kind, Kind::kDone);
  caller.run("START TRANSACTION");
  caller.run("INSERT INTO effect VALUES ('the caller''s own')");
  const auto outcome = guard.run_once("k", kBody, [] { FAIL(); });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "R208") << outcome.error().message;
  EXPECT_FALSE(caller.in_transaction());
  other.run("ROLLBACK");
  EXPECT_EQ(other.ask("SELECT COUNT(*) FROM effect"), "0");
}

}  // namespace
}  // namespace semel::conformance
