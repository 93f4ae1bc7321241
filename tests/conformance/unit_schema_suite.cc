// TransactionalStore: a table that another program changes while a store is open is no message's
// error.
#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

using test::make_messages;

// Calls again where the store asks for it, as the strategies do: that is no try of a message.
template <class Call>
auto again(Call&& call) {
  constexpr int kMostCalls = 3;
  for (int calls = 1;; ++calls) {
    auto result = call();
    const bool retry = !result && result.error().kind == ErrorKind::kRetryTransaction;
    if (!retry || calls == kMostCalls) return result;
  }
}

TEST_P(UnitStatementSuite, AColumnThatIsAddedIsInTheNextAnswer) {
  sql("CREATE TABLE changing (a INTEGER)");
  sql("INSERT INTO changing VALUES (1)");
  const RecordedStatement all = statement("SELECT * FROM changing");
  const auto asked = [&](const std::string& name) {
    return again([&] {
      Batch batch = claim_in_unit(make_messages(consumer(), name, 1));
      auto rows = batch.unit->query(0, all);
      if (rows) finish_all(batch);
      if (rows) commit(batch);
      return rows;
    });
  };
  const auto before = asked("before");
  ASSERT_TRUE(before.has_value()) << before.error().message;
  EXPECT_EQ(before->columns.size(), 1U);
  sql("ALTER TABLE changing ADD COLUMN b INTEGER");
  const auto behind = asked("behind");
  ASSERT_TRUE(behind.has_value()) << behind.error().message;
  EXPECT_EQ(behind->columns.size(), 2U);
  ASSERT_EQ(behind->rows.size(), 1U);
  EXPECT_EQ(behind->rows[0].size(), 2U);
}

TEST_P(UnitStatementSuite, AColumnThatChangesItsTypeTakesTheNextValue) {
  sql("CREATE TABLE changing (a INTEGER)");
  const auto inserted = [&](const std::string& name, const Value& value) {
    return again([&] {
      Batch batch = claim_in_unit(make_messages(consumer(), name, 2));
      batch.unit->run(0, {statement("INSERT INTO changing (a) VALUES (?)", {value})});
      batch.unit->run(1, effect("neighbour"));
      auto report = batch.unit->flush();
      if (report) finish_all(batch);
      if (report) commit(batch);
      return report;
    });
  };
  const auto before = inserted("before", std::int64_t{1});
  ASSERT_TRUE(before.has_value()) << before.error().message;
  ASSERT_TRUE(before->failed.empty()) << before->failed[0].error.message;
  sql("DROP TABLE changing");
  sql("CREATE TABLE changing (a VARCHAR(20))");
  const auto behind = inserted("behind", std::string("two"));
  ASSERT_TRUE(behind.has_value()) << behind.error().message;
  EXPECT_TRUE(behind->failed.empty()) << behind->failed[0].error.message;
  EXPECT_EQ(count("changing"), 1);
  EXPECT_EQ(effects("neighbour"), 2);
}

}  // namespace
}  // namespace semel::conformance
