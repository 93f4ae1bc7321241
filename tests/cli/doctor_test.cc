// doctor and a dry run, on a file: what they find before it happens, and that they write nothing.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/cli/leaves_nothing.h"
#include "tests/cli/program.h"

namespace semel::test {
namespace {

const std::set<std::string> kOfProcesses = {"semel_instance", "semel_meta", "sqlite_sequence"};
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
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.sql("ALTER TABLE account RENAME COLUMN balance TO amount");
  const Ran told = bed.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D134  payments: handler.sql.statements[0] cannot run: no such "
                          "column: balance"),
            std::string::npos)
      << told.out;
  bed.sql("ALTER TABLE account RENAME COLUMN amount TO balance");
  EXPECT_EQ(bed.semel({"doctor"}).code, 0);
}

TEST(Doctor, NamesTheConditionOfALockThatCannotRun) {
  const TestBed fine(locked(kFree));
  ASSERT_EQ(fine.semel({"store", "init", "-q"}).code, 0);
  const Ran good = fine.semel({"doctor"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("[ok  ] D133  payments: 2 of its statements"), std::string::npos)
      << good.out;
  const TestBed bed(locked("      done_when: paid > 10\n"));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const Ran told = bed.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D134  payments: lock.select cannot run: no such column: paid"),
            std::string::npos)
      << told.out;
}

TEST(Doctor, NamesARuleUnderWhichNothingFalls) {
  const TestBed bed(with_rule("account(balance)"));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const Ran told = bed.semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D137  payments: handler.sql.on_unique_violation: the store's "
                          "database has no unique constraint account(balance)"),
            std::string::npos)
      << told.out;
  bed.sql("CREATE UNIQUE INDEX one_balance ON account(balance) WHERE balance > 0");
  EXPECT_EQ(bed.semel({"doctor"}).code, 0);
  // The primary key of a table with rowids, and an expression.
  for (const char* rule : {"account(id)", "account(abs(balance), id)", "one_amount"}) {
    const TestBed other(with_rule(rule));
    other.sql("CREATE UNIQUE INDEX one_amount ON account(abs(balance), id)");
    ASSERT_EQ(other.semel({"store", "init", "-q"}).code, 0);
    const Ran fine = other.semel({"doctor"});
    EXPECT_EQ(fine.code, 0) << rule << fine.out << fine.err;
  }
}

TEST(Doctor, LeavesNothingBehind) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  expect_doctor_leaves_nothing(bed);
}

TEST(Doctor, ADryRunLeavesNothingBehind) {
  const TestBed bed(payments(kQueue));
  expect_dry_run_leaves_nothing(bed, kOfProcesses);
  EXPECT_EQ(bed.number("SELECT sum(balance) FROM account"), 0);
}

// The store keeps the position in a file.
TEST(Doctor, ADryRunOfAFileLeavesItsPositionAlone) {
  const TestBed bed(payments("{ file: { path: in.jsonl } }"));
  write_file(bed.file("in.jsonl"), payment("p-1", 1, 5));
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  const std::string before = bed.contents();
  for (const char* name : {"payments", "invoices"}) {
    const Ran dry = bed.semel(
        {"run", "--once", "--dry-run", "--set", std::string("consumers[0].name=") + name});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_NE(dry.out.find("p-1  would be done"), std::string::npos) << dry.out;
    EXPECT_EQ(bed.contents(), before);
  }
}

TEST(Doctor, AnotherKeyRecipeIsToldByItAndByADryRun) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Words other = {"--set", "consumers[0].key={from: [json:/account]}"};
  const auto with_other = [&](Words words) {
    words.insert(words.end(), other.begin(), other.end());
    return bed.semel(words);
  };
  const Ran told = with_other({"doctor"});
  EXPECT_EQ(told.code, 1) << told.err;
  EXPECT_NE(told.out.find("[fail] D101  the key recipe of consumer \"payments\" changed"),
            std::string::npos)
      << told.out;
  const Ran dry = with_other({"run", "--once", "--dry-run"});
  EXPECT_EQ(dry.code, 78) << dry.err;
  EXPECT_NE(dry.err.find("error[R220]"), std::string::npos) << dry.err;
}

TEST(Doctor, ADryRunMakesNoTables) {
  const TestBed bed(payments(kQueue));
  const Ran dry = bed.semel({"run", "--once", "--dry-run"});
  EXPECT_EQ(dry.code, 69) << dry.err;
  EXPECT_NE(dry.err.find("error[R207]"), std::string::npos) << dry.err;
  EXPECT_EQ(bed.number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'semel%'"), 0);
}

}  // namespace
}  // namespace semel::test
