// doctor, on a file: what it finds before it happens.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

constexpr const char* kFree = "      done_when: balance > 10\n";

std::string locked(const char* condition) {
  return payments(kQueue, "pessimistic_lock") +
         "    lock:\n"
         "      select: SELECT id, balance FROM account WHERE id = :account FOR UPDATE\n" +
         condition;
}

std::string with_rule(const std::string& rule) {
  std::string consumer = payments(kQueue);
  const std::string next = "        statements:\n";
  consumer.insert(consumer.find(next),
                  "        on_unique_violation: { \"" + rule + "\": duplicate }\n");
  return consumer;
}

TEST(Doctor, NamesAStatementThatCannotRun) {
  const Scene scene(payments(kQueue));
  ASSERT_EQ(scene.semel({"store", "init", "-q"}).code, 0);
  scene.sql("ALTER TABLE account RENAME COLUMN balance TO amount");
  const Ran told = scene.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D134  payments: handler.sql.statements[0] cannot run: no such "
                          "column: balance"),
            std::string::npos)
      << told.out;
  scene.sql("ALTER TABLE account RENAME COLUMN amount TO balance");
  EXPECT_EQ(scene.semel({"doctor"}).code, 0);
}

TEST(Doctor, NamesTheConditionOfALockThatCannotRun) {
  const Scene fine(locked(kFree));
  ASSERT_EQ(fine.semel({"store", "init", "-q"}).code, 0);
  const Ran good = fine.semel({"doctor"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("[ok  ] D133  payments: 2 of its statements"), std::string::npos)
      << good.out;
  const Scene scene(locked("      done_when: paid > 10\n"));
  ASSERT_EQ(scene.semel({"store", "init", "-q"}).code, 0);
  const Ran told = scene.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D134  payments: lock.select cannot run: no such column: paid"),
            std::string::npos)
      << told.out;
}

TEST(Doctor, NamesARuleUnderWhichNothingFalls) {
  const Scene scene(with_rule("account(balance)"));
  ASSERT_EQ(scene.semel({"store", "init", "-q"}).code, 0);
  const Ran told = scene.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D137  payments: handler.sql.on_unique_violation: the store's "
                          "database has no unique constraint account(balance)"),
            std::string::npos)
      << told.out;
  scene.sql("CREATE UNIQUE INDEX one_balance ON account(balance) WHERE balance > 0");
  EXPECT_EQ(scene.semel({"doctor"}).code, 0);
  // The primary key of a table with rowids, and an expression.
  for (const char* rule : {"account(id)", "account(abs(balance), id)", "one_amount"}) {
    const Scene other(with_rule(rule));
    other.sql("CREATE UNIQUE INDEX one_amount ON account(abs(balance), id)");
    ASSERT_EQ(other.semel({"store", "init", "-q"}).code, 0);
    const Ran fine = other.semel({"doctor"});
    EXPECT_EQ(fine.code, 0) << rule << fine.out << fine.err;
  }
}

}  // namespace
}  // namespace semel::test
