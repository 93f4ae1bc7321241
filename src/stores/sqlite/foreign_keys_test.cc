// Foreign keys of the user's tables: enforced, even where SQLite would check at the commit only.
#include <gtest/gtest.h>

#include <filesystem>

#include <semel/spi/recorded_statement.h>

#include "stores/sqlite/test_place.h"

namespace semel::sqlite {
namespace {

class ForeignKeysTest : public SqliteTest {
 protected:
  ForeignKeysTest() {
    sql("CREATE TABLE account (id INTEGER PRIMARY KEY);"
        "CREATE TABLE entry (account REFERENCES account(id) ON DELETE CASCADE);"
        "CREATE TABLE note (account REFERENCES account(id) DEFERRABLE INITIALLY DEFERRED);"
        "INSERT INTO account VALUES (1)");
  }
  static RecordedStatement statement(std::string_view text) {
    RecordedStatement recorded;
    recorded.statement = admit_statement(text).value();
    return recorded;
  }
  std::string count(const std::string& table) { return one("SELECT count(*) FROM " + table); }

  // A unit with a claim for each of `lists`, run and flushed.
  struct Flushed {
    std::unique_ptr<UnitOfWork> unit;
    std::vector<Finish> finishes;
    FlushReport report;
  };
  Flushed flush(Store& store, const std::vector<std::vector<std::string>>& lists,
                Savepoints savepoints) {
    UnitOptions options;
    options.savepoints = savepoints;
    const auto messages =
        test::make_messages(attach(store), "batch-" + std::to_string(++batches_), lists.size());
    Flushed made;
    made.unit = store.facets().transactional->begin(options).value();
    const auto claims = made.unit->claim(test::pointers(messages)).value();
    for (const Claim& claim : claims) {
      made.finishes.push_back(test::completed(std::get<Acquired>(claim).lease));
    }
    for (std::size_t i = 0; i < lists.size(); ++i) {
      StatementList list;
      for (const std::string& text : lists[i]) list.push_back(statement(text));
      made.unit->run(i, list);
    }
    made.report = made.unit->flush().value();
    return made;
  }
  static std::vector<std::size_t> failed(const FlushReport& report) {
    std::vector<std::size_t> messages;
    for (const auto& one : report.failed) {
      messages.push_back(one.message);
      EXPECT_EQ(one.sql_class, "constraint");
      EXPECT_EQ(one.error.kind, ErrorKind::kRejected);
      EXPECT_NE(one.error.message.find("FOREIGN KEY"), std::string::npos) << one.error.message;
    }
    return messages;
  }

 private:
  int batches_ = 0;
};

using Messages = std::vector<std::size_t>;

TEST_F(ForeignKeysTest, AnOrphanIsRefusedAndACascadeHappens) {
  const auto store = open();
  Flushed batch = flush(*store,
                        {{"INSERT INTO entry VALUES (1)"},
                         {"INSERT INTO entry VALUES (7)"},
                         {"INSERT INTO account VALUES (2)", "INSERT INTO entry VALUES (2)"}},
                        Savepoints::kSparse);
  EXPECT_EQ(failed(batch.report), Messages{1});
  EXPECT_FALSE(batch.report.all_undone);
  batch.unit.reset();

  batch = flush(*store, {{"INSERT INTO entry VALUES (1)"}, {"DELETE FROM account WHERE id = 1"}},
                Savepoints::kSparse);
  EXPECT_TRUE(batch.report.failed.empty());
  ASSERT_TRUE(batch.unit->finish(batch.finishes).has_value());
  ASSERT_TRUE(batch.unit->commit().has_value());
  EXPECT_EQ(count("entry"), "0");
}

TEST_F(ForeignKeysTest, ADeferredOneFailsItsMessageAndNotTheBatch) {
  const auto store = open();
  for (const Savepoints savepoints : {Savepoints::kSparse, Savepoints::kEach}) {
    SCOPED_TRACE(static_cast<int>(savepoints));
    sql("DELETE FROM note; DELETE FROM account WHERE id > 1");
    Flushed batch = flush(*store,
                          {{"INSERT INTO note VALUES (2)", "INSERT INTO account VALUES (2)"},
                           {"INSERT INTO note VALUES (7)", "INSERT INTO note VALUES (1)"},
                           {"INSERT INTO note VALUES (1)"}},
                          savepoints);
    EXPECT_EQ(failed(batch.report), Messages{1});
    EXPECT_FALSE(batch.report.all_undone) << "it had a mark";
    Finish undone;
    undone.to = Finish::To::kNotStarted;
    undone.lease = batch.finishes[1].lease;
    batch.finishes[1] = undone;
    ASSERT_TRUE(batch.unit->finish(batch.finishes).has_value());
    const auto committed = batch.unit->commit();
    ASSERT_TRUE(committed.has_value()) << committed.error().message;
    EXPECT_EQ(count("note"), "2");
  }
}

// It has no savepoint: the batch is undone as a whole, and the culprit is reported.
TEST_F(ForeignKeysTest, ADeferredOneOfASingleStatementIsTold) {
  const auto store = open();
  const Flushed batch =
      flush(*store, {{"INSERT INTO note VALUES (1)"}, {"INSERT INTO note VALUES (7)"}},
            Savepoints::kSparse);
  EXPECT_EQ(failed(batch.report), Messages{1});
  EXPECT_TRUE(batch.report.all_undone);
}

TEST_F(ForeignKeysTest, WhatAskedMayStillBringTheParent) {
  const auto store = open();
  const auto messages = test::make_messages(attach(*store), "m", 2);
  auto unit = store->facets().transactional->begin({}).value();
  ASSERT_TRUE(unit->claim(test::pointers(messages)).has_value());
  unit->run(0, {statement("INSERT INTO note VALUES (3)")});
  ASSERT_TRUE(unit->query(0, statement("SELECT 1")).has_value());
  unit->run(0, {statement("INSERT INTO account VALUES (3)")});
  unit->run(1, {statement("INSERT INTO note VALUES (7)")});
  ASSERT_TRUE(unit->query(1, statement("SELECT 1")).has_value()) << "the first one is whole";
  EXPECT_EQ(failed(unit->flush().value()), Messages{1});
}

TEST_F(ForeignKeysTest, TurnedOffNothingIsEnforced) {
  SqliteOptions wanted = options();
  wanted.foreign_keys = false;
  const auto store = open(wanted);
  Flushed batch = flush(*store, {{"INSERT INTO entry VALUES (7)"}, {"INSERT INTO note VALUES (7)"}},
                        Savepoints::kSparse);
  EXPECT_TRUE(batch.report.failed.empty());
  ASSERT_TRUE(batch.unit->finish(batch.finishes).has_value());
  ASSERT_TRUE(batch.unit->commit().has_value());
  EXPECT_EQ(count("entry"), "1");
  EXPECT_TRUE(sqlite_flaws(wanted)->empty()) << "it was asked for";
}

TEST_F(ForeignKeysTest, RowsThatBreakOneAlreadyAreTold) {
  EXPECT_TRUE(sqlite_flaws(options())->empty());
  sql("INSERT INTO entry VALUES (7), (8); INSERT INTO note VALUES (9)");
  const auto flaws = sqlite_flaws(options()).value();
  ASSERT_EQ(flaws.size(), 2U);
  EXPECT_NE(flaws[0].text.find("2 rows of table entry have no parent in account"),
            std::string::npos)
      << flaws[0].text;
  EXPECT_NE(flaws[1].text.find("1 row of table note has"), std::string::npos) << flaws[1].text;
  EXPECT_NE(flaws[0].fix.find("foreign_key_check(entry)"), std::string::npos) << flaws[0].fix;
}

TEST_F(ForeignKeysTest, AFileThatIsNotThereHasNoSuchRows) {
  path_ = folder_.file("none.db");
  EXPECT_TRUE(sqlite_flaws(options())->empty());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ForeignKeysTest, AParentWithoutAKeyIsTold) {
  sql("CREATE TABLE loose (id INTEGER); CREATE TABLE of_loose (loose REFERENCES loose(id))");
  const auto flaws = sqlite_flaws(options()).value();
  ASSERT_EQ(flaws.size(), 1U);
  EXPECT_NE(flaws[0].text.find("of_loose"), std::string::npos) << flaws[0].text;
}

}  // namespace
}  // namespace semel::sqlite
