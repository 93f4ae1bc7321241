#include "core/transaction_recorder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace semel::core {
namespace {

class OneRow final : public TransactionRecorder::Queries {
 public:
  Rows query(const RecordedStatement& statement, StatementList& recorded) override {
    asked.push_back(statement.statement->sql);
    recorded_before = recorded.size();
    return Rows{{"a"}, {{statement.values.empty() ? Value(Null{}) : statement.values[0]}}};
  }
  std::vector<std::string> asked;
  std::size_t recorded_before = 0;
};

struct TransactionTest : testing::Test {
  OneRow queries;
  TransactionRecorder recorder{queries};
  Transaction tx{recorder, Attempt{}};
};

TEST_F(TransactionTest, ExecRecordsInOrder) {
  tx.exec("INSERT INTO t VALUES (?, ?)", 1, "one");
  tx.exec("DELETE FROM t");
  ASSERT_EQ(recorder.statements().size(), 2U);
  EXPECT_EQ(recorder.statements()[0].statement->sql, "INSERT INTO t VALUES (?, ?)");
  EXPECT_EQ(recorder.statements()[0].values,
            (std::vector<Value>{std::int64_t{1}, std::string("one")}));
  EXPECT_EQ(recorder.statements()[1].statement->sql, "DELETE FROM t");
  EXPECT_TRUE(queries.asked.empty());
}

TEST_F(TransactionTest, TakesEveryKindOfValue) {
  const std::string text = "t";
  tx.exec("INSERT INTO t VALUES (?,?,?,?,?,?,?,?)", true, 2U, 2.5, text, std::string_view("v"),
          Blob{std::string("\0", 1)}, Null{}, Value(std::int64_t{9}));
  EXPECT_EQ(
      recorder.statements()[0].values,
      (std::vector<Value>{std::int64_t{1}, std::int64_t{2}, 2.5, std::string("t"), std::string("v"),
                          Blob{std::string("\0", 1)}, Null{}, std::int64_t{9}}));
}

TEST_F(TransactionTest, TakesNothingAsNull) {
  const std::optional<std::string> name = "n";
  std::optional<int> none;
  tx.exec("INSERT INTO t VALUES (?,?,?,?,?,?,?,?)", nullptr, std::nullopt, name, none,
          std::optional<bool>(true), std::optional<Decimal>(Decimal{"1.5"}),
          std::optional<std::string_view>("v"), std::optional<Value>(Value(2.5)));
  EXPECT_EQ(recorder.statements()[0].values,
            (std::vector<Value>{Null{}, Null{}, std::string("n"), Null{}, std::int64_t{1},
                                Decimal{"1.5"}, std::string("v"), 2.5}));
  tx.query("SELECT ?", std::optional<std::string>());
  EXPECT_EQ(*name, "n") << "what is lent is not moved";
}

TEST_F(TransactionTest, AnErrorNamesItsStatement) {
  const auto told = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const StatementRefused& refused) {
      return refused.error().message;
    }
    return "nothing was thrown";
  };
  EXPECT_TRUE(told([&] { tx.exec("DROP TABLE\n t"); }).ends_with(", in: DROP TABLE t"));
  EXPECT_TRUE(told([&] { tx.exec("SELECT 'open"); }).ends_with(", in: SELECT 'open"));
  EXPECT_EQ(told([&] { tx.exec("SELECT\n ?, ?", "secret"); }),
            "1 values were given for the 2 placeholders of: SELECT ?, ?");
}

TEST_F(TransactionTest, OneTextIsOneStatement) {
  const std::string copy = "SELECT ?";
  tx.exec("SELECT ?", 1);
  tx.exec(copy, 2);
  EXPECT_EQ(recorder.statements()[0].statement, recorder.statements()[1].statement);
  // Many texts with values in them must not be kept for ever; the statements stay valid.
  for (int i = 0; i < 5000; ++i) tx.exec("SELECT " + std::to_string(i));
  EXPECT_EQ(recorder.statements()[1].statement->sql, "SELECT ?");
  EXPECT_EQ(recorder.statements().back().statement->sql, "SELECT 4999");
}

TEST_F(TransactionTest, RefusesWhatIsNotAdmitted) {
  EXPECT_THROW(tx.exec("COMMIT"), StatementRefused);
  EXPECT_THROW(tx.exec("COMMIT"), StatementRefused) << "also the second time";
  EXPECT_THROW(tx.query("PRAGMA user_version"), StatementRefused);
  EXPECT_TRUE(recorder.statements().empty());
  EXPECT_TRUE(queries.asked.empty());
}

TEST_F(TransactionTest, RefusesValuesThatDoNotFit) {
  EXPECT_THROW(tx.exec("SELECT ?"), StatementRefused);
  EXPECT_THROW(tx.exec("SELECT ?", 1, 2), StatementRefused);
  EXPECT_THROW(tx.query("SELECT 1", 1), StatementRefused);
  EXPECT_TRUE(recorder.statements().empty());
  RecordedStatement none;
  EXPECT_THROW(recorder.record(none), StatementRefused);
  RecordedStatement unfit{admit_statement("SELECT ?").value(), {}, {}, {}, {}};
  EXPECT_THROW(recorder.record(unfit), StatementRefused);
}

TEST_F(TransactionTest, RecordTakesWhatWasPrepared) {
  RecordedStatement prepared{admit_statement("SELECT ?").value(), {Null{}}, 1, {dead("x")}, {}};
  recorder.record(prepared);
  ASSERT_EQ(recorder.statements().size(), 1U);
  EXPECT_EQ(recorder.statements()[0].expect_rows, 1);
}

TEST_F(TransactionTest, MissesAreDeclared) {
  tx.exec("UPDATE t SET a = 1")
      .expect_rows(1, dead("no such row"))
      .on_unique_violation("t(a)", discard("was there"))
      .on_unique_violation("t(b, c)", retry("later"));
  const RecordedStatement& statement = recorder.statements()[0];
  EXPECT_EQ(statement.expect_rows, 1);
  EXPECT_EQ(statement.otherwise.verdict.reason(), "no such row");
  EXPECT_FALSE(statement.otherwise.duplicate);
  ASSERT_EQ(statement.unique_rules->size(), 2U);
  EXPECT_EQ((*statement.unique_rules)[0].constraint, "t(a)");
  EXPECT_EQ((*statement.unique_rules)[1].otherwise.verdict.kind(), Verdict::Kind::kRetry);
}

TEST_F(TransactionTest, RulesOfOneStatementAreNotThoseOfAnother) {
  auto first = tx.exec("UPDATE t SET a = 1");
  first.on_unique_violation("t(a)", discard("x"));
  const RecordedStatement copy = recorder.statements()[0];
  recorder.record(copy);
  first.on_unique_violation("t(b)", discard("y"));
  EXPECT_EQ(recorder.statements()[0].unique_rules->size(), 2U);
  EXPECT_EQ(recorder.statements()[1].unique_rules->size(), 1U);
}

TEST_F(TransactionTest, QueryAsksAtOnceAndIsNotRecorded) {
  tx.exec("DELETE FROM t");
  const Rows rows = tx.query("SELECT ?", 5);
  EXPECT_EQ(queries.asked, std::vector<std::string>({"SELECT ?"}));
  EXPECT_EQ(queries.recorded_before, 1U);
  EXPECT_EQ(rows.rows[0][0], Value(std::int64_t{5}));
  EXPECT_EQ(recorder.statements().size(), 1U);
}

}  // namespace
}  // namespace semel::core
