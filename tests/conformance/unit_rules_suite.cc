// TransactionalStore: rules about the result of a statement, and locks on names.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "tests/conformance/unit_test_base.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::make_messages;

// Misses where the first column of the first row is `bad`, or where nothing changed.
class TestRule final : public RowsRule {
 public:
  explicit TestRule(std::int64_t bad) : bad_(bad) {}

  std::optional<Otherwise> judge(std::int64_t count, const Rows& rows) const noexcept override {
    if (count == 0) return Otherwise{retry("nothing"), false};
    const bool is_bad = !rows.rows.empty() && rows.rows.front().front() == Value(bad_);
    return is_bad ? std::optional(Otherwise{done(), true}) : std::nullopt;
  }

 private:
  std::int64_t bad_;
};

RecordedStatement with_rule(RecordedStatement recorded, std::int64_t bad) {
  recorded.rule = std::make_shared<const TestRule>(bad);
  return recorded;
}

LockName name(unsigned char first) {
  LockName made;
  made.bytes.fill(first);
  return made;
}

TEST_P(UnitStatementSuite, ARuleSeesTheRowsAndUndoesItsMessageAlone) {
  sql("INSERT INTO reservation VALUES (7, 1, 3)");
  for (const bool sparse : {false, true}) {
    SCOPED_TRACE(sparse);
    StatementList list = {with_rule(statement("SELECT order_id, amount FROM reservation"), 7)};
    list.push_back(effect("bad")[0]);
    Batch batch = five({1, 3}, list, sparse ? UnitOptions{} : each());
    const FlushReport report = flushed(batch);
    EXPECT_TRUE(report.failed.empty());
    ASSERT_FALSE(report.all_undone);
    ASSERT_EQ(report.missed.size(), 2U);
    EXPECT_EQ(report.missed[0].message + report.missed[1].message, 4U);
    EXPECT_TRUE(report.missed[0].otherwise.duplicate);
    EXPECT_TRUE(report.missed[1].otherwise.duplicate);
    expect_neighbours(batch, {1, 3});
  }
}

TEST_P(UnitStatementSuite, ARuleThatIsMetChangesNothing) {
  sql("INSERT INTO reservation VALUES (7, 1, 3)");
  Batch batch = claim_in_unit({message("k")}, each());
  StatementList list = {with_rule(statement("SELECT order_id FROM reservation"), 8)};
  list.push_back(effect("good")[0]);
  list.push_back(with_rule(statement("UPDATE reservation SET amount = 2 WHERE order_id = 7"), 0));
  batch.unit->run(0, list);
  const FlushReport report = flushed(batch);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_TRUE(report.missed.empty());
  finish_all(batch);
  commit(batch);
  EXPECT_EQ(effects("good"), 1);
}

TEST_P(UnitStatementSuite, ARuleCountsWhatChanged) {
  StatementList list = effect("bad");
  list.push_back(with_rule(statement("UPDATE reservation SET seat = 1 WHERE order_id = 12345"), 0));
  Batch batch = five({2}, list);
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.missed.size(), 1U);
  EXPECT_EQ(report.missed[0].message, 2U);
  EXPECT_EQ(report.missed[0].otherwise.verdict.reason(), "nothing");
  expect_neighbours(batch, {2});
}

TEST_P(UnitStatementSuite, ARuleBehindAQueryUndoesTheWholeMessage) {
  sql("INSERT INTO reservation VALUES (7, 1, 3)");
  Batch batch = five({4}, {});
  StatementList list = {with_rule(statement("SELECT order_id FROM reservation"), 7)};
  list.push_back(effect("bad")[0]);
  batch.unit->run(4, list);
  const auto rows = batch.unit->query(4, statement("SELECT 1"));
  ASSERT_FALSE(rows.has_value()) << "its guard was flushed before it";
  EXPECT_EQ(rows.error().kind, ErrorKind::kRetryTransaction);
  const FlushReport report = flushed(batch);
  ASSERT_EQ(report.missed.size(), 1U);
  EXPECT_EQ(report.missed[0].message, 4U);
  ASSERT_FALSE(report.all_undone);
  ASSERT_TRUE(batch.unit->undo(4).has_value());
  expect_neighbours(batch, {4});
}

// A batch goes to a server as a whole: what ran behind a message that is undone saw its effects.
TEST_P(UnitStatementSuite, WhatMissedIsSeenByNobodyBehindIt) {
  Batch batch = claim_in_unit(make_messages(consumer(), "m-", 3));
  StatementList first = {statement("INSERT INTO reservation VALUES (7, 1, 3)")};
  first.push_back(statement("UPDATE reservation SET seat = 1 WHERE order_id = 12345"));
  first[1].expect_rows = 1;
  first[1].otherwise = {retry("later"), false};
  batch.unit->run(0, first);
  const auto read = statement("SELECT MAX(order_id) FROM reservation");
  for (const std::size_t at : {1U, 2U}) {
    batch.unit->run(at, {with_rule(read, 7), effect("good")[0]});
  }
  const FlushReport report = flushed(batch);
  EXPECT_TRUE(report.failed.empty());
  ASSERT_EQ(report.missed.size(), 1U) << "the others found the table empty";
  EXPECT_EQ(report.missed[0].message, 0U);
  ASSERT_FALSE(report.all_undone);
  finish_all(batch);
  commit(batch);
  EXPECT_EQ(effects("good"), 2);
  EXPECT_EQ(count("reservation"), 0);
}

TEST_P(UnitStatementSuite, ALockOnANameEndsWithItsTransaction) {
  const auto locking = [](RecordedStatement recorded) {
    recorded.lock = name(1);
    return recorded;
  };
  const auto looks = locking(statement("SELECT name FROM effect"));
  for (const bool committed : {true, false}) {
    SCOPED_TRACE(committed);
    const std::string prefix = committed ? "a" : "b";
    Batch first = claim_in_unit({message(prefix + "-first")});
    first.unit->run(0, {looks, effect(prefix)[0]});
    EXPECT_TRUE(flushed(first).missed.empty());
    std::atomic<bool> begun = false;
    std::atomic<bool> over = false;
    std::jthread second([&] {
      begun = true;
      Batch batch = claim_in_unit({message(prefix + "-second")});
      batch.unit->run(
          0, {locking(with_rule(
                 statement("SELECT COUNT(*) FROM effect WHERE name = ?", {Value(prefix)}), 1))});
      const FlushReport report = flushed(batch);
      EXPECT_TRUE(over) << "it must wait for the first";
      EXPECT_EQ(report.missed.size(), committed ? 1U : 0U) << "and see what that did";
    });
    EXPECT_TRUE(test::comes_true([&] { return begun && place().somebody_waits(); }));
    finish_all(first);
    over = true;
    if (committed) commit(first);
    first.unit.reset();
  }
}

TEST_P(UnitSuite, OtherNamesWaitForNobody) {
  if (store().traits().single_writer) GTEST_SKIP() << "trait: one writer, who waits for all";
  RecordedStatement one = statement("SELECT name FROM effect");
  RecordedStatement other = one;
  one.lock = name(1);
  other.lock = name(2);
  Batch first = claim_in_unit({message("first")});
  first.unit->run(0, {one});
  flushed(first);
  std::jthread([&] {
    Batch second = claim_in_unit({message("second")});
    second.unit->run(0, {other});
    flushed(second);
    finish_all(second);
    commit(second);
  }).join();
  finish_all(first);
  commit(first);
}

// Units that lock several names in any order: none waits forever, and no lock is left behind.
TEST_P(UnitSuite, RaceOfUnitsOnTheSameNames) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  std::atomic<int> repeated = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < kRounds;) {
          UnitOptions options;
          options.patience = 30s;
          const std::string key = std::to_string(t) + "-" + std::to_string(round);
          auto unit = transactional().begin(options);
          ASSERT_TRUE(unit.has_value());
          std::vector<Message> messages = {message(key)};
          auto claims = (*unit)->claim(test::pointers(messages));
          RecordedStatement put = effect("e")[0];
          put.lock = name(static_cast<unsigned char>(round % 2));
          if (claims) (*unit)->run(0, {put});
          auto report = claims ? (*unit)->flush() : tl::unexpected<Error>(claims.error());
          if (!report) {
            EXPECT_EQ(report.error().kind, ErrorKind::kRetryTransaction) << report.error().message;
            ++repeated;
            continue;
          }
          const Finish end = test::completed(std::get<Acquired>(claims->at(0)).lease);
          ASSERT_TRUE((*unit)->finish({&end, 1}).has_value());
          ASSERT_TRUE((*unit)->commit().has_value());
          ++round;
        }
      });
    }
  }
  EXPECT_EQ(effects(), kThreads * kRounds);
  EXPECT_LE(repeated, 5) << "one name each: nobody waits in a ring";
}

}  // namespace
}  // namespace semel::conformance
