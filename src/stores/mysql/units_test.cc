// Units of work and claims that compete for InnoDB's locks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/mysql.h>
#include <semel/spi/unit_of_work.h>

#include <optional>
#include <thread>

#include "tests/support/builders.h"
#include "tests/support/mysql_servers.h"

namespace semel {
namespace {

using namespace std::chrono_literals;
using test::make_message;
using test::make_messages;
using test::pointers;

class MySqlUnits : public testing::Test {
 protected:
  MySqlUnits() : database_(server().new_database()) {
    MySqlOptions options;
    options.url = server().url(database_);
    options.busy = 1s;
    store_ = open_mysql(options).value();
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
    sql("CREATE TABLE stock (item INT PRIMARY KEY, amount INT)");
    sql("INSERT INTO stock VALUES (1, 10), (2, 10)");
  }

  static const test::MySqlFamilyServer& server() { return test::MariaDbServer::shared(); }
  std::string sql(const std::string& text) { return server().query(database_, text); }
  Message message(BytesView key) const { return make_message(consumer_, key, "{}"); }
  std::unique_ptr<UnitOfWork> begin(std::chrono::milliseconds patience = 1s) {
    UnitOptions options;
    options.patience = patience;
    return store_->facets().transactional->begin(options).value();
  }
  static Claim claim(UnitOfWork& unit, const Message& message) {
    const Message* one = &message;
    return unit.claim({&one, 1}).value().at(0);
  }
  static StatementList statement(const std::string& text) {
    RecordedStatement recorded;
    recorded.statement = std::make_shared<const Statement>(Statement{text, 0, false});
    return {recorded};
  }
  static Finish done(const Message& message) {
    Lease lease;
    lease.key = message.key().id;
    return test::completed(lease);
  }

  std::string database_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(MySqlUnits, WhatIsCompletedIsLockedForNobody) {
  const Message twin = message("twin");
  auto first = begin();
  ASSERT_TRUE(std::holds_alternative<Acquired>(claim(*first, twin)));
  const Finish finish = done(twin);
  ASSERT_TRUE(first->finish({&finish, 1}).has_value());
  ASSERT_TRUE(first->commit().has_value());
  // Two concurrent units that both get the duplicate.
  auto second = begin();
  auto third = begin();
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(*second, twin)));
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(*third, twin)));
}

TEST_F(MySqlUnits, AKeyInAnothersHandsCostsNoNeighbour) {
  const Message held = message("m-1");
  auto first = begin();
  ASSERT_TRUE(std::holds_alternative<Acquired>(claim(*first, held)));
  const auto messages = make_messages(consumer_, "m-", 3);
  auto second = begin();
  const auto claims = second->claim(pointers(messages)).value();
  EXPECT_TRUE(std::holds_alternative<Acquired>(claims[0]));
  EXPECT_TRUE(std::holds_alternative<Busy>(claims[1])) << "in the first unit's hands";
  EXPECT_TRUE(std::holds_alternative<Acquired>(claims[2]));
  second.reset();
  const auto leased = store_->claim(pointers(messages), {}).value();
  EXPECT_TRUE(std::holds_alternative<Acquired>(leased[0]));
  EXPECT_TRUE(std::holds_alternative<Busy>(leased[1])) << "also where leases are asked for";
  EXPECT_TRUE(std::holds_alternative<Acquired>(leased[2]));
}

// The server leaves the transaction open then: a commit would keep the effect without its record.
TEST_F(MySqlUnits, ALockThatIsWaitedForInVainEndsTheWholeUnit) {
  auto first = begin();
  const Message one = message("one");
  claim(*first, one);
  first->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 1"));
  ASSERT_TRUE(first->flush().has_value());
  auto second = begin();
  const Message two = message("two");
  claim(*second, two);
  second->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 2"));
  second->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 1"));
  const auto flushed = second->flush();
  ASSERT_FALSE(flushed.has_value());
  EXPECT_EQ(flushed.error().kind, ErrorKind::kBlocked) << flushed.error().message;
  EXPECT_FALSE(second->commit().has_value());
  second.reset();
  first.reset();
  EXPECT_EQ(sql("SELECT amount FROM stock"), "10\n10");
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_record"), "0");
}

TEST_F(MySqlUnits, ADeadlockEndsTheWholeUnitOfOne) {
  auto first = begin(10s);
  auto second = begin(10s);
  const Message one = message("one");
  const Message two = message("two");
  claim(*first, one);
  claim(*second, two);
  first->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 1"));
  second->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 2"));
  ASSERT_TRUE(first->flush().has_value());
  ASSERT_TRUE(second->flush().has_value());
  std::optional<ErrorKind> failed;
  std::jthread other([&] {
    first->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 2"));
    const auto flushed = first->flush();
    if (!flushed) failed = flushed.error().kind;
  });
  second->run(0, statement("UPDATE stock SET amount = amount - 1 WHERE item = 1"));
  const auto flushed = second->flush();
  if (!flushed) second.reset();
  other.join();
  const ErrorKind kind = flushed ? failed.value() : flushed.error().kind;
  EXPECT_EQ(kind, ErrorKind::kRetryTransaction);
  EXPECT_NE(flushed.has_value(), !failed.has_value()) << "one of the two";
}

// The lexer and the server must not parse a statement differently.
TEST_F(MySqlUnits, NoStatementReachesIntoTheNext) {
  const std::vector<std::string> refused = {"SELECT 1 # ' \n; COMMIT # '",
                                            "SELECT 'open",
                                            "SELECT \"open",
                                            "SELECT `open",
                                            "SELECT 1; COMMIT",
                                            "SELECT 1 /* open"};
  const std::vector<std::string> harmless = {"SELECT 1 /*! ; COMMIT */", "SELECT 5--1; COMMIT",
                                             "SELECT '\\'", "SELECT 1 -- ; COMMIT",
                                             "SELECT 1 /*M! ; COMMIT */"};
  for (const bool fine : {false, true}) {
    for (const std::string& text : fine ? harmless : refused) {
      SCOPED_TRACE(text);
      const Message m = message(text);
      auto unit = begin();
      ASSERT_TRUE(std::holds_alternative<Acquired>(claim(*unit, m)));
      unit->run(0, statement("UPDATE stock SET amount = 0 WHERE item = 1"));
      unit->run(0, statement(text));
      unit->run(0, statement("UPDATE stock SET amount = 0 WHERE item = 2"));
      const auto report = unit->flush();
      ASSERT_TRUE(report.has_value()) << report.error().message;
      EXPECT_EQ(report->failed.empty(), fine);
      unit.reset();
      EXPECT_EQ(sql("SELECT amount FROM stock"), "10\n10") << "nothing was committed";
    }
  }
}

TEST_F(MySqlUnits, NamesThatWereLockedStayUntilAPurgeThatLeavesThoseInUse) {
  const auto locking = [&](unsigned char name, const Message& message) {
    auto unit = begin();
    EXPECT_TRUE(std::holds_alternative<Acquired>(claim(*unit, message)));
    StatementList list = statement("UPDATE stock SET amount = amount - 1 WHERE item = 1");
    list[0].lock.emplace().bytes[0] = name;
    unit->run(0, list);
    EXPECT_TRUE(unit->flush().has_value());
    return unit;
  };
  const Message past = message("past");
  auto over = locking(1, past);
  const Finish finish = done(past);
  ASSERT_TRUE(over->finish({&finish, 1}).has_value());
  ASSERT_TRUE(over->commit().has_value());
  EXPECT_EQ(sql("SELECT HEX(name) FROM semel_lock"), "01000000000000000000000000000000");
  const auto held = locking(2, message("held"));
  ASSERT_TRUE(store_->purge(1s).has_value());
  EXPECT_EQ(sql("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; "
                "SELECT HEX(name) FROM semel_lock"),
            "02000000000000000000000000000000");
}

}  // namespace
}  // namespace semel
