// TransactionalStore: one bad message never costs its neighbours, and none ends the transaction.
#include <algorithm>
#include <set>
#include <string>

#include "tests/conformance/unit_test_base.h"

namespace semel::conformance {
namespace {

using test::make_messages;

// An Otherwise that a test knows again.
Otherwise otherwise(const std::string& reason, bool duplicate = false) {
  return {dead(reason), duplicate};
}

// A statement that bypassed the admission check: the store's own defence must catch it.
RecordedStatement smuggled(const std::string& sql) {
  RecordedStatement recorded;
  recorded.statement = std::make_shared<const Statement>(Statement{sql, 0, false});
  return recorded;
}

TEST_P(UnitStatementSuite, AFailedStatementUndoesItsMessageAlone) {
  for (const bool several : {false, true}) {
    SCOPED_TRACE(several);
    const StatementList one = {breaking()[1]};
    Batch batch = five({2}, several ? breaking() : one);
    const FlushReport report = flushed(batch);
    ASSERT_EQ(report.failed.size(), 1U);
    EXPECT_EQ(report.failed[0].message, 2U);
    EXPECT_EQ(report.failed[0].sql_class, "constraint");
    EXPECT_NE(report.failed[0].error.message.find(", in: " + breaking()[1].statement->sql),
              std::string::npos)
        << report.failed[0].error.message;
    ASSERT_FALSE(report.all_undone);
    expect_neighbours(batch, {2});
  }
}

TEST_P(UnitStatementSuite, SeveralFailuresAreToldEach) {
  // Told in one flush or in several, until nothing is left: never is one swallowed.
  Batch batch = five({0, 2, 4}, breaking());
  std::set<std::size_t> failed;
  for (int flush = 0; flush < 5 && failed.size() < 3; ++flush) {
    const FlushReport report = flushed(batch);
    ASSERT_FALSE(report.all_undone);
    for (const FlushReport::Failed& failure : report.failed) failed.insert(failure.message);
  }
  EXPECT_EQ(failed, (std::set<std::size_t>{0, 2, 4}));
  expect_neighbours(batch, {0, 2, 4});
}

TEST_P(UnitStatementSuite, SparseMarksLoseNoOneEither) {
  UnitOptions sparse;
  sparse.savepoints = Savepoints::kSparse;
  Batch batch = five({2}, breaking(), sparse);
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].message, 2U) << "it says which";
  if (!report.all_undone) {
    expect_neighbours(batch, {2});
    return;
  }
  EXPECT_FALSE(batch.unit->commit().has_value()) << "what is undone cannot be committed";
  batch.unit.reset();
  EXPECT_EQ(effects(), 0);
}

TEST_P(UnitStatementSuite, AFailureBehindAQueryUndoesTheWholeMessage) {
  for (const bool missed : {false, true}) {
    SCOPED_TRACE(missed);
    Batch batch = five({4}, {});
    batch.unit->run(4, effect("bad"));
    ASSERT_TRUE(batch.unit->query(4, statement("SELECT 1")).has_value());
    batch.unit->run(4, effect("bad"));
    ASSERT_TRUE(batch.unit->query(4, statement("SELECT 2")).has_value());
    StatementList last = {breaking()[1]};
    if (missed) {
      last = {statement("DELETE FROM reservation WHERE order_id = 12345")};
      last[0].expect_rows = 1;
    }
    batch.unit->run(4, last);
    const FlushReport report = flushed(batch);
    ASSERT_FALSE(report.all_undone);
    ASSERT_EQ(report.failed.size(), missed ? 0U : 1U);
    ASSERT_EQ(report.missed.size(), missed ? 1U : 0U);
    EXPECT_EQ(missed ? report.missed[0].message : report.failed[0].message, 4U);
    expect_neighbours(batch, {4});
  }
}

TEST_P(UnitStatementSuite, ADeclaredMissUndoesItsMessageAndSaysWhatWasDeclared) {
  for (const std::int64_t expected : {0, 1, 2}) {
    SCOPED_TRACE(expected);
    StatementList list = effect("bad");
    list.push_back(statement("UPDATE reservation SET seat = 1 WHERE order_id = 12345"));
    list.back().expect_rows = expected;
    list.back().otherwise = otherwise("handler.sql.expect_rows");
    Batch batch = five({1, 3}, list);
    const FlushReport report = flushed(batch);
    EXPECT_TRUE(report.failed.empty()) << "a declared miss is a verdict, not a failure";
    ASSERT_FALSE(report.all_undone);
    if (expected == 0) {
      EXPECT_TRUE(report.missed.empty());
      continue;
    }
    ASSERT_EQ(report.missed.size(), 2U) << "all at once";
    EXPECT_EQ(report.missed[0].message + report.missed[1].message, 4U);
    EXPECT_EQ(report.missed[0].otherwise.verdict.reason(), "handler.sql.expect_rows");
    EXPECT_EQ(report.missed[0].otherwise.verdict.kind(), Verdict::Kind::kDead);
    expect_neighbours(batch, {1, 3});
  }
}

TEST_P(UnitStatementSuite, ExpectRowsCountsRowsReturnedToo) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 2), each());
  StatementList exists = {statement("SELECT name FROM effect")};
  exists[0].expect_rows = 1;
  exists[0].otherwise = otherwise("absent");
  batch.unit->run(0, exists);
  StatementList present = effect("e");
  present.push_back(exists[0]);
  batch.unit->run(1, present);
  const FlushReport report = flushed(batch);
  EXPECT_TRUE(report.failed.empty());
  ASSERT_EQ(report.missed.size(), 1U);
  EXPECT_EQ(report.missed[0].message, 0U);
}

TEST_P(UnitStatementSuite, OnlyANamedUniqueViolationIsExpected) {
  sql("INSERT INTO reservation VALUES (7, 1, 3)");
  const auto rules = std::make_shared<const std::vector<UniqueRule>>(
      std::vector<UniqueRule>{{"reservation(order_id)", otherwise("named", true)}});
  StatementList named = effect("bad");
  named.push_back(statement("INSERT INTO reservation VALUES (7, 5, 9)"));
  named.back().unique_rules = rules;
  Batch batch = five({2}, named);
  FlushReport report = flushed(batch);
  EXPECT_TRUE(report.failed.empty());
  ASSERT_EQ(report.missed.size(), 1U);
  EXPECT_EQ(report.missed[0].message, 2U);
  EXPECT_TRUE(report.missed[0].otherwise.duplicate);
  expect_neighbours(batch, {2});

  StatementList unnamed = effect("bad");
  unnamed.push_back(statement("INSERT INTO reservation VALUES (8, 1, 3)"));
  unnamed.back().unique_rules = rules;
  batch = five({2}, unnamed);
  report = flushed(batch);
  EXPECT_TRUE(report.missed.empty()) << "another constraint than the one named";
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].sql_class, "constraint");
  expect_neighbours(batch, {2});

  StatementList both = effect("bad");
  both.push_back(statement("INSERT INTO reservation VALUES (9, 1, 3)"));
  both.back().unique_rules = std::make_shared<const std::vector<UniqueRule>>(
      std::vector<UniqueRule>{{"reservation(order_id)", otherwise("one", true)},
                              {"reservation(seat, amount)", otherwise("two")}});
  batch = five({2}, both);
  report = flushed(batch);
  ASSERT_EQ(report.missed.size(), 1U);
  EXPECT_EQ(report.missed[0].otherwise.verdict.reason(), "two");
  EXPECT_FALSE(report.missed[0].otherwise.duplicate);
  expect_neighbours(batch, {2});
}

TEST_P(UnitStatementSuite, AQuerySeesWhatCameBefore) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3), each());
  batch.unit->run(0, effect("first"));
  batch.unit->run(1, effect("second"));
  const auto rows = batch.unit->query(1, statement("SELECT name FROM effect ORDER BY name"));
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->columns, std::vector<std::string>{"name"});
  ASSERT_EQ(rows->rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(rows->rows[0][0]), "first");
  EXPECT_EQ(std::get<std::string>(rows->rows[1][0]), "second");
  batch.unit->run(2, effect("third"));
  EXPECT_TRUE(flushed(batch).failed.empty());
  finish_all(batch);
  commit(batch);
  EXPECT_EQ(effects(), 3);
}

TEST_P(UnitStatementSuite, ValuesComeBackAsTheyWent) {
  Batch batch = claim_in_unit({message("k")}, each());
  const std::vector<Value> values = {
      Value(Null{}),
      Value(std::int64_t{-9'223'372'036'854'775'807LL - 1}),
      Value(0.1),
      Value(place().text_may_hold_nul() ? std::string("a\0\xc3\xa4", 4) : "a\xc3\xa4"),
      Value(Blob{Bytes("\0\xff", 2)}),
      Value(std::string())};
  const auto rows = batch.unit->query(0, statement(place().echo(), values));
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), 1U);
  EXPECT_EQ(rows->rows[0], values);
}

TEST_P(UnitStatementSuite, ADecimalKeepsItsDigitsOrIsRefused) {
  sql("CREATE TABLE wallet (id INTEGER, balance DECIMAL(50, 20))");
  sql("INSERT INTO wallet VALUES (1, 12345678901234567.5), (2, 0)");
  const RecordedStatement many =
      statement("UPDATE wallet SET balance = balance + ? WHERE id = ?",
                {Value(Decimal{"0.25000000000000000001"}), Value(std::int64_t{1})});
  const RecordedStatement few =
      statement("UPDATE wallet SET balance = balance + ?, id = ? WHERE id = 2",
                {Value(Decimal{"1.25"}), Value(Decimal{"3.0e0"})});
  Batch batch = claim_in_unit({message("many"), message("few")}, each());
  batch.unit->run(0, {many});
  batch.unit->run(1, {few});
  const bool kept = store().traits().decimals;
  EXPECT_EQ(flushed(batch).failed.size(), kept ? 0U : 1U);
  finish_all(batch);
  commit(batch);
  EXPECT_EQ(count("wallet WHERE balance = 1.25 AND id = 3"), 1)
      << "a whole number is one for an integer column too";
  const char* const sum = kept ? "12345678901234567.75000000000000000001" : "12345678901234567.5";
  EXPECT_EQ(count(std::string("wallet WHERE balance = ") + sum), 1);
}

TEST_P(UnitStatementSuite, AFailedQueryIsItsMessagesOwn) {
  Batch batch = five({4}, {});
  const auto rows = batch.unit->query(4, statement("SELECT nothing FROM nowhere"));
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().kind, ErrorKind::kRejected);
  ASSERT_TRUE(batch.unit->undo(4).has_value());
  expect_neighbours(batch, {4});
}

TEST_P(UnitStatementSuite, AFailedQuerySaysItsClass) {
  const std::string returning = place().may_return_rows() ? " RETURNING amount" : "";
  const std::vector<std::pair<std::string, RecordedStatement>> queries = {
      {"constraint",
       statement("INSERT INTO reservation (order_id, amount) VALUES (1, 0)" + returning)},
      {"refused", smuggled("PRAGMA synchronous = OFF")},
      {"syntax", smuggled("SELECT (((")}};
  for (const auto& [sql_class, query] : queries) {
    SCOPED_TRACE(sql_class);
    Batch batch = five({4}, {});
    const auto rows = batch.unit->query(4, query);
    ASSERT_FALSE(rows.has_value());
    EXPECT_EQ(rows.error().kind, ErrorKind::kRejected);
    EXPECT_EQ(rows.error().code, "handler.sql." + sql_class) << "it becomes the reason";
    ASSERT_TRUE(batch.unit->undo(4).has_value());
    expect_neighbours(batch, {4});
  }
}

TEST_P(UnitStatementSuite, AnErrorNamesItsStatementButNoValue) {
  const Value secret = std::string("4111-1111");
  const std::string text = "SELECT nothing FROM nowhere\n  WHERE card = ?";
  const std::string named = ", in: SELECT nothing FROM nowhere WHERE card = ?";
  const auto expect_named = [&](const std::string& told) {
    EXPECT_TRUE(told.ends_with(named)) << told;
    EXPECT_GT(told.size(), named.size()) << "and what the database says";
    EXPECT_EQ(told.find("4111"), std::string::npos) << told;
  };
  Batch batch = five({4}, {});
  const auto rows = batch.unit->query(4, statement(text, {secret}));
  ASSERT_FALSE(rows.has_value());
  expect_named(rows.error().message);
  const auto odd =
      batch.unit->query(4, statement("SELECT name FROM effect WHERE name = name ?", {secret}));
  ASSERT_FALSE(odd.has_value());
  const auto has = [&](const char* part) {
    return odd.error().message.find(part) < std::string::npos;
  };
  EXPECT_EQ(has("\"$1\""), has("($1 is the first placeholder)")) << odd.error().message;
  batch.unit.reset();

  for (const UnitOptions& options : {each(), UnitOptions{}}) {
    batch = five({2}, {effect("bad")[0], statement(text, {secret})}, options);
    const FlushReport report = flushed(batch);
    ASSERT_EQ(report.failed.size(), 1U);
    expect_named(report.failed[0].error.message);
    batch.unit.reset();
  }

  UnitOptions looks;
  looks.only_looks = true;
  auto unit = transactional().begin(looks);
  ASSERT_TRUE(unit.has_value()) << unit.error().message;
  const auto looked = (*unit)->query(0, statement(text, {secret}));
  ASSERT_FALSE(looked.has_value());
  expect_named(looked.error().message);
}

TEST_P(UnitStatementSuite, AnEarlierMessagesErrorIsNotTheQuerysOwn) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3), each());
  batch.unit->run(0, breaking());
  const auto rows = batch.unit->query(1, statement("SELECT 1"));
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().kind, ErrorKind::kRetryTransaction);
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].message, 0U) << "told by the flush, with its message";
}

TEST_P(UnitStatementSuite, UndoTakesBackWhatTheNewestMessageDidByQuery) {
  Batch batch = five({4}, {});
  const bool returns = place().may_return_rows();
  const auto inserted =
      batch.unit->query(4, statement(std::string("INSERT INTO effect VALUES ('bad')") +
                                     (returns ? " RETURNING name" : "")));
  ASSERT_TRUE(inserted.has_value()) << inserted.error().message;
  EXPECT_EQ(inserted->rows.size(), returns ? 1U : 0U);
  ASSERT_TRUE(batch.unit->undo(4).has_value());
  EXPECT_TRUE(flushed(batch).failed.empty());
  expect_neighbours(batch, {4});
}

TEST_P(UnitStatementSuite, WhatWouldEndTheTransactionIsRefused) {
  std::vector<std::string> refused = {"COMMIT",
                                      "END",
                                      "ROLLBACK",
                                      "BEGIN",
                                      "SAVEPOINT mine",
                                      "RELEASE mine",
                                      "CREATE TABLE theirs (a)",
                                      "DROP TABLE effect",
                                      "ALTER TABLE effect RENAME TO other",
                                      "CREATE TRIGGER t AFTER INSERT ON effect BEGIN SELECT 1; END",
                                      "PRAGMA synchronous = OFF",
                                      "ATTACH ':memory:' AS other"};
  for (const std::string& table : place().own_tables()) {
    refused.push_back("DELETE FROM " + table);
    refused.push_back("DELETE FROM \"" + table + "\" WHERE 1");
  }
  ASSERT_GT(refused.size(), 13U) << "the store's own tables are among them";
  for (const std::string& text : refused) {
    SCOPED_TRACE(text);
    StatementList list = effect("bad");
    list.push_back(smuggled(text));
    Batch batch = five({2}, list);
    const FlushReport report = flushed(batch);
    ASSERT_EQ(report.failed.size(), 1U);
    EXPECT_EQ(report.failed[0].message, 2U);
    EXPECT_EQ(report.failed[0].sql_class, "refused");
    ASSERT_FALSE(report.all_undone);
    expect_neighbours(batch, {2});
  }
}

// Effects that a user's schema can have during a flush.
TEST_P(UnitStatementSuite, ATransactionEndedByTheSchemaCommitsNothing) {
  if (!place().schema_may_roll_back()) GTEST_SKIP() << "no schema ends a transaction there";
  sql("CREATE TABLE strict (a INTEGER UNIQUE ON CONFLICT ROLLBACK)");
  sql("INSERT INTO strict VALUES (1)");
  sql("CREATE TABLE guarded (a INTEGER)");
  sql("CREATE TRIGGER guard BEFORE INSERT ON guarded BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
  for (const char* text : {"INSERT INTO strict VALUES (1)", "INSERT INTO guarded VALUES (1)",
                           "INSERT OR ROLLBACK INTO reservation (amount) VALUES (0)"}) {
    for (const UnitOptions& options : {each(), UnitOptions{}}) {
      SCOPED_TRACE(text);
      StatementList list = effect("bad");
      list.push_back(smuggled(text));  // admission would refuse the last one
      list.push_back(effect("bad")[0]);
      Batch batch = five({2}, list, options);
      const FlushReport report = flushed(batch);
      EXPECT_TRUE(report.all_undone);
      ASSERT_GE(report.failed.size(), 1U);
      EXPECT_EQ(report.failed[0].message, 2U);
      EXPECT_FALSE(batch.unit->commit().has_value());
      const Message first = batch.messages[0];
      batch.unit.reset();
      EXPECT_EQ(effects(), 0) << "what came behind must not commit without its claim";
      EXPECT_EQ(acquire(first).attempt, 1);
    }
  }
}

TEST_P(UnitStatementSuite, ASyntaxErrorIsItsMessagesOwn) {
  Batch batch = five({2}, {smuggled("INSERT INTO effect VALUES (((")});
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].message, 2U);
  ASSERT_FALSE(report.all_undone);
  expect_neighbours(batch, {2});
}

TEST_P(UnitStatementSuite, TheInboxKeepsTheMessage) {
  UnitOptions options = each();
  options.inbox = true;
  auto parts = test::make_parts(consumer(), "k", Bytes("pay\0load", 8));
  parts.type = "payment.made";
  parts.content_type = "application/json";
  const Message m(parts);
  Batch batch = claim_in_unit({m}, options);
  batch.unit->run(0, effect("e"));
  flushed(batch);
  Finish done = test::completed(batch.lease(0), "the answer");
  done.keep = &batch.messages[0];
  done.inbox = true;
  ASSERT_EQ(batch.unit->finish({&done, 1}).value().at(0), Applied::kYes);
  commit(batch);
  batch.unit.reset();
  const Rows rows =
      sql("SELECT type, payload, content_type, received_at IS NOT NULL, processed_at IS NOT NULL, "
          "error, result FROM semel_inbox");
  ASSERT_EQ(rows.rows.size(), 1U);
  const auto& row = rows.rows[0];
  EXPECT_EQ(row[0], Value(std::string("payment.made")));
  EXPECT_EQ(row[1],
            Value(Blob{m.payload() == BytesView("pay\0load", 8) ? Bytes(m.payload()) : ""}));
  EXPECT_EQ(row[2], Value(std::string("application/json")));
  EXPECT_EQ(row[3], Value(std::int64_t{1}));
  EXPECT_EQ(row[4], Value(std::int64_t{1}));
  batch = claim_in_unit({m}, options);
  EXPECT_TRUE(is<Completed>(batch.claims[0])) << describe(batch.claims[0]);
  batch.unit.reset();
  EXPECT_EQ(count("semel_inbox"), 1);
}

}  // namespace
}  // namespace semel::conformance
