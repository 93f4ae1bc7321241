// MariaDB and MySQL join the suite of Guard; plus tests of sessions with unusual settings.
#include <fmt/format.h>
#include <semel/guard.h>

#include "tests/conformance/strategy/mysql_caller.h"
#include "tests/support/pooled_database.h"

namespace semel::conformance {
namespace {

using Kind = Outcome::Kind;

class MySqlGuardPlace final : public GuardPlace {
 public:
  explicit MySqlGuardPlace(const test::MySqlFamilyServer& server, unsigned long flags = 0)
      : server_(server), database_(server), flags_(flags) {}
  std::unique_ptr<Caller> connect() override {
    return std::make_unique<MySqlCaller>(server_, database_.name(), flags_);
  }
  Result<std::unique_ptr<Store>> open() override {
    MySqlOptions options;
    options.url = database_.url();
    return open_mysql(std::move(options));
  }
  bool somebody_waits() override { return server_.lock_waiters(database_.name()) > 0; }

 private:
  const test::MySqlFamilyServer& server_;
  const test::PooledDatabase database_;
  const unsigned long flags_;
};

std::vector<GuardCase> cases() {
  std::vector<GuardCase> all;
  for (const MySqlServed& one : mysql_served()) {
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

INSTANTIATE_TEST_SUITE_P(Servers, GuardOnMySql, testing::ValuesIn(mysql_served()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
