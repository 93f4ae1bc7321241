// TransactionalStore: a row that another transaction has locked for longer than a unit waits.
#include <string>

#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

UnitOptions naming(Savepoints savepoints) {
  UnitOptions options;
  options.savepoints = savepoints;
  options.row_patience = 50ms;
  options.names_blocked = true;
  return options;
}

constexpr const char* kOneWriter = "trait: one writer has all rows";

TEST_P(UnitStatementSuite, AMessageThatIsBlockedIsNamed) {
  if (store().traits().single_writer) GTEST_SKIP() << kOneWriter;
  const Batch stranger = lock_account();
  for (const Savepoints savepoints : {Savepoints::kSparse, Savepoints::kEach}) {
    StatementList list = effect("bad");
    list.push_back(book());
    Batch batch = five({2, 3}, list, naming(savepoints));
    const FlushReport report = flushed(batch);
    EXPECT_TRUE(report.all_undone);
    ASSERT_EQ(report.failed.size(), 1U) << "nobody waits twice in a transaction";
    EXPECT_EQ(report.failed[0].message, 2U);
    EXPECT_EQ(report.failed[0].error.kind, ErrorKind::kBlocked);
    ASSERT_TRUE(report.failed[0].blocked);
    EXPECT_EQ(report.failed[0].blocked->values, list.back().values);
    EXPECT_FALSE(batch.unit->commit().has_value());
    EXPECT_EQ(effects(), 0);
  }
}

TEST_P(UnitStatementSuite, AMessageThatIsBlockedIsNamedInOneTrip) {
  if (store().traits().single_writer) GTEST_SKIP() << kOneWriter;
  const Batch stranger = lock_account();
  Batch batch = five({2}, {book()}, naming(Savepoints::kSparse));
  const auto report = batch.unit->flush_and_commit(batch.completions());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->committed);
  EXPECT_TRUE(report->all_undone);
  ASSERT_EQ(report->failed.size(), 1U);
  EXPECT_EQ(report->failed[0].message, 2U);
  EXPECT_TRUE(report->failed[0].blocked);
  EXPECT_EQ(effects(), 0);
}

TEST_P(UnitStatementSuite, AQueryThatIsBlockedIsNamed) {
  if (store().traits().single_writer) GTEST_SKIP() << kOneWriter;
  const Batch stranger = lock_account();
  const RecordedStatement question =
      statement("SELECT balance FROM account WHERE id = 1 FOR UPDATE");
  Batch batch = claim_in_unit(test::make_messages(consumer(), "q", 2), naming({}));
  const auto asked = batch.unit->query(1, question);
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().kind, ErrorKind::kBlocked);
  EXPECT_EQ(asked.error().code, kQueryBlocked);
  batch.unit.reset();
  // Where it is another one before it, that is told by the flush.
  batch = claim_in_unit(batch.messages, naming({}));
  batch.unit->run(0, {book()});
  const auto behind = batch.unit->query(1, question);
  ASSERT_FALSE(behind.has_value());
  EXPECT_EQ(behind.error().kind, ErrorKind::kRetryTransaction);
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].message, 0U);
  EXPECT_TRUE(report.failed[0].blocked);
  EXPECT_TRUE(report.all_undone);
}

TEST_P(UnitStatementSuite, ABlockedUnitThatNamesNobodyFails) {
  if (store().traits().single_writer) GTEST_SKIP() << kOneWriter;
  const Batch stranger = lock_account();
  UnitOptions options = naming(Savepoints::kEach);
  options.names_blocked = false;
  options.patience = 1'000ms;
  Batch batch = five({2}, {book()}, options);
  const auto report = batch.unit->flush();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, ErrorKind::kBlocked);
}

}  // namespace
}  // namespace semel::conformance
