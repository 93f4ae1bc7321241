// MariaDB and MySQL join the suite of Guard; and what is theirs alone: sessions that are set in a
// way of their own, and transactions that the server undoes.
#include <fmt/format.h>
#include <semel/guard.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/conformance/strategy/mysql_caller.h"

namespace semel::conformance {
namespace {

using namespace std::chrono_literals;
using Kind = Outcome::Kind;

const Fingerprint kBody = fingerprint_of("body");

GuardOptions orders() {
  GuardOptions options;
  options.consumer = "orders";
  return options;
}

class MySqlGuardPlace final : public GuardPlace {
 public:
  explicit MySqlGuardPlace(const test::MySqlFamilyServer& server, unsigned long flags = 0)
      : server_(server), database_(server.new_database()), flags_(flags) {}
  std::unique_ptr<Caller> connect() override {
    return std::make_unique<MySqlCaller>(server_, database_, flags_);
  }
  Result<std::unique_ptr<Store>> open() override {
    MySqlOptions options;
    options.url = server_.url(database_);
    return open_mysql(std::move(options));
  }

 private:
  const test::MySqlFamilyServer& server_;
  const std::string database_;
  const unsigned long flags_;
};

struct Served {
  std::string name;
  const test::MySqlFamilyServer& (*server)();
};
std::ostream& operator<<(std::ostream& out, const Served& served) { return out << served.name; }

std::vector<Served> served() {
  std::vector<Served> all = {{"mariadb", []() -> const test::MySqlFamilyServer& {
                                return test::MariaDbServer::shared();
                              }}};
  // Where it is missing, servers.mysql8.absent says so.
  if (!test::MySqlServer::why_absent()) {
    all.push_back(
        {"mysql8", []() -> const test::MySqlFamilyServer& { return test::MySqlServer::shared(); }});
  }
  return all;
}

std::vector<GuardCase> cases() {
  std::vector<GuardCase> all;
  for (const Served& one : served()) {
    const auto server = one.server;
    all.push_back({one.name, [server] { return std::make_unique<MySqlGuardPlace>(server()); }});
    // A row that an upsert meets counts as changed then.
    all.push_back({one.name + "_found_rows", [server] {
                     return std::make_unique<MySqlGuardPlace>(
                         server(), CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS);
                   }});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(MySql, GuardSuite, testing::ValuesIn(cases()),
                         testing::PrintToStringParamName());

std::unique_ptr<Store> opened(Result<std::unique_ptr<Store>> store) {
  if (!store) throw SemelError(store.error());
  return *std::move(store);
}

class GuardOnMySql : public testing::TestWithParam<Served> {
 protected:
  GuardOnMySql() {
    run("CREATE TABLE effect (name VARCHAR(200) CHARACTER SET utf8mb4, raw VARBINARY(200))");
    run("CREATE TABLE stock (item INT PRIMARY KEY, amount INT)");
    run("INSERT INTO stock VALUES (1, 10), (2, 10)");
  }

  void run(const std::string& sql) { caller_.run(sql); }
  std::string ask(const std::string& sql) { return caller_.ask(sql); }
  std::string effects() { return other_.ask("SELECT COUNT(*) FROM effect"); }
  std::string records() { return other_.ask("SELECT COUNT(*) FROM semel_record"); }
  std::unique_ptr<Store> borrowed() { return opened(caller_.borrow()); }
  static void expect_r208(const Result<Outcome>& outcome) {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().kind, ErrorKind::kRejected) << outcome.error().message;
    EXPECT_EQ(outcome.error().code, "R208") << outcome.error().message;
  }

  // Two rows, of which this one has the second and the other the first; each wants both. The
  // other has changed more: this one is undone.
  class Deadlock {
   public:
    explicit Deadlock(MySqlCaller& other) {
      other.run("START TRANSACTION");
      for (int i = 0; i < 50; ++i) {
        other.run(fmt::format("INSERT INTO stock VALUES ({}, 0)", 100 + i));
      }
      other.run("UPDATE stock SET amount = 0 WHERE item = 1");
      waiting_ = std::jthread([&other] {
        EXPECT_EQ(other.refused("UPDATE stock SET amount = 0 WHERE item = 2"), 0U);
        other.run("ROLLBACK");
      });
      std::this_thread::sleep_for(200ms);
    }

   private:
    std::jthread waiting_;
  };

  const test::MySqlFamilyServer& server_ = GetParam().server();
  const std::string database_ = server_.new_database();
  MySqlCaller caller_{server_, database_};
  MySqlCaller other_{server_, database_};
};

TEST_P(GuardOnMySql, ValuesArriveAsTheyAreWhateverTheSessionReads) {
  const Bytes odd("a\\'\"\0\x1a\n\xc3\xa4\\", 10);
  const std::string text = "\\'; DROP TABLE effect; -- \xc3\xa4 \xf0\x9f\x90\x87 \" ` \\";
  std::vector<std::string> modes = {"", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,IGNORE_SPACE",
                                    "STRICT_ALL_TABLES,PIPES_AS_CONCAT"};
  if (GetParam().name == "mariadb") modes.emplace_back("EMPTY_STRING_IS_NULL");
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const std::string characters : {"latin1", "utf8mb4", "utf8"}) {
    for (const std::string& mode : modes) {
      SCOPED_TRACE(characters + " " + mode);
      run("SET NAMES " + characters);
      run("SET SESSION sql_mode = '" + mode + "'");
      run("DELETE FROM effect");
      const Bytes key = odd + Bytes(mode) + Bytes(characters);
      const auto work = [&](Transaction& tx) {
        tx.exec("INSERT INTO effect VALUES (?, ?)", text, Blob{odd});
        tx.exec("INSERT INTO effect VALUES ('none', ?)", Blob{});
        return done(odd);
      };
      run("START TRANSACTION");
      const auto first = guard.run_once(key, kBody, work);
      ASSERT_TRUE(first.has_value()) << first.error().message;
      EXPECT_EQ(first->kind, Kind::kDone);
      const auto again = guard.run_once(key, kBody, work);
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(again->kind, Kind::kDuplicate);
      EXPECT_EQ(again->result, odd);
      EXPECT_EQ(guard.run_once(key + "\\", kBody, [] {})->kind, Kind::kDone) << "another key";
      run("COMMIT");
      EXPECT_EQ(other_.ask("SELECT COUNT(*) FROM effect"), "2");
      EXPECT_EQ(other_.ask("SELECT HEX(name) FROM effect WHERE name <> 'none'"),
                other_.ask(fmt::format(
                    "SELECT HEX(x'{:02x}')",
                    fmt::join(std::vector<unsigned char>(text.begin(), text.end()), ""))));
      EXPECT_EQ(other_.ask("SELECT raw FROM effect WHERE name <> 'none'"), odd);
      EXPECT_EQ(other_.ask("SELECT LENGTH(raw) FROM effect WHERE name = 'none'"), "0");
    }
  }
}

TEST_P(GuardOnMySql, ABackslashInAStatementIsRefusedWhereItIsAnEscape) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  const auto work = [](Transaction& tx) { tx.exec("INSERT INTO effect(name) VALUES ('a\\')"); };
  run("SET SESSION sql_mode = 'ANSI_QUOTES'");
  run("START TRANSACTION");
  EXPECT_THROW((void)guard.run_once("a", kBody, work), StatementFailed);
  run("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'");
  EXPECT_EQ(guard.run_once("a", kBody, work)->kind, Kind::kDone);
  run("COMMIT");
  EXPECT_EQ(other_.ask("SELECT name FROM effect"), "a\\");
}

TEST_P(GuardOnMySql, CharactersThatMayHoldAQuoteAreRefused) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("SET NAMES gbk");
  run("START TRANSACTION");
  expect_r208(guard.run_once("a", kBody, [] {}));
  run("SET NAMES utf8mb4");
  EXPECT_EQ(guard.run_once("a", kBody, [] {})->kind, Kind::kDone);
  run("ROLLBACK");
}

TEST_P(GuardOnMySql, TheSessionStaysAsItIsAndTimesAreUtc) {
  run("SET SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+05:00', innodb_lock_wait_timeout = 7, "
      "sql_safe_updates = 1, NAMES latin1");
  run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
  const std::string settings =
      "SELECT CONCAT_WS('|', @@sql_mode, @@time_zone, @@innodb_lock_wait_timeout, @@autocommit, "
      "@@sql_safe_updates, @@character_set_client, @@session.lock_wait_timeout, " +
      std::string(GetParam().name == "mariadb" ? "@@tx_isolation)" : "@@transaction_isolation)");
  const std::string before = ask(settings);
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("START TRANSACTION");
  const auto work = [](Transaction& tx) { tx.exec("INSERT INTO effect(name) VALUES (?)", "x"); };
  EXPECT_EQ(guard.run_once("a", kBody, work)->kind, Kind::kDone);
  EXPECT_EQ(guard.run_once("b", kBody, [] { return dead("never"); })->kind, Kind::kDead);
  run("COMMIT");
  EXPECT_EQ(ask(settings), before);
  EXPECT_EQ(other_.ask("SELECT COUNT(*) FROM semel_record WHERE ABS(TIMESTAMPDIFF(SECOND, "
                       "changed_at, UTC_TIMESTAMP())) < 60"),
            "2");
}

TEST_P(GuardOnMySql, WithoutAutocommitATransactionIsAlwaysOpen) {
  run("SET SESSION autocommit = 0");
  const auto store = borrowed();
  EXPECT_FALSE(caller_.in_transaction()) << "what it looked at is over";
  Guard guard(*store, orders());
  run("COMMIT");
  const auto insert = [this] { run("INSERT INTO effect(name) VALUES ('direct')"); };
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone);
  EXPECT_TRUE(caller_.in_transaction());
  run("ROLLBACK");
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(guard.run_once("a", kBody, insert)->kind, Kind::kDone);
  run("COMMIT");
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(records(), "1");
}

TEST_P(GuardOnMySql, TablesAreNotMadeInsideATransaction) {
  run("START TRANSACTION");
  run("INSERT INTO effect(name) VALUES ('the caller''s own')");
  const auto store = caller_.borrow();
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, "R208");
  EXPECT_TRUE(caller_.in_transaction());
  run("ROLLBACK");
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(caller_.borrow(false).error().code, "R207");
}

TEST_P(GuardOnMySql, AKeyInAnothersHandsIsBusyAndTheTransactionGoesOn) {
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

TEST_P(GuardOnMySql, AStatementThatWaitsInVainUndoesItsOwnWorkAlone) {
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

TEST_P(GuardOnMySql, ADeadlockIsToldAsTheEndOfTheWholeTransaction) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const char* const autocommit : {"1", "0"}) {
    SCOPED_TRACE(autocommit);
    run(fmt::format("SET SESSION autocommit = {}", autocommit));
    run("START TRANSACTION");
    run("INSERT INTO effect(name) VALUES ('the caller''s own')");
    run("UPDATE stock SET amount = 5 WHERE item = 2");
    {
      const Deadlock deadlock(other_);
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

TEST_P(GuardOnMySql, AfterADeadlockThatTheWorkHidNothingIsRecorded) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const bool closes : {false, true}) {
    run("START TRANSACTION");
    run("UPDATE stock SET amount = 5 WHERE item = 2");
    {
      const Deadlock deadlock(other_);
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

TEST_P(GuardOnMySql, WorkThatEndsTheTransactionIsTold) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  for (const std::string end : {"ROLLBACK", "ROLLBACK AND CHAIN"}) {
    run("START TRANSACTION");
    expect_r208(guard.run_once("k", kBody, [&] { run(end); }));
    run("COMMIT");
    EXPECT_EQ(records(), "0") << end;
  }
}

// What the work did cannot be undone then, and the caller's commit must not keep it.
TEST_P(GuardOnMySql, AnAnswerThatFailedWorkLeftUnreadEndsTheSession) {
  const auto store = borrowed();
  Guard guard(*store, orders());
  run("START TRANSACTION");
  MYSQL_RES* unread = nullptr;
  EXPECT_THROW((void)guard.run_once("k", kBody,
                                    [&] {
                                      run("INSERT INTO effect(name) VALUES ('direct')");
                                      ASSERT_EQ(caller_.refused("SELECT item FROM stock"), 0U);
                                      unread = mysql_use_result(caller_.handle());
                                      throw std::domain_error("no");
                                    }),
               std::domain_error);
  mysql_free_result(unread);
  EXPECT_NE(caller_.refused("COMMIT"), 0U);
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(records(), "0");
}

TEST_P(GuardOnMySql, AnAnswerThatIsUnreadBeforeIsToldAndHarmsNothing) {
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

INSTANTIATE_TEST_SUITE_P(Servers, GuardOnMySql, testing::ValuesIn(served()),
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
