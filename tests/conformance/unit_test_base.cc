#include "tests/conformance/unit_test_base.h"

#include <algorithm>

namespace semel::conformance {

std::vector<Finish> Batch::completions() const {
  std::vector<Finish> finishes;
  for (const Claim& answer : claims) {
    if (is<Acquired>(answer)) finishes.push_back(test::completed(std::get<Acquired>(answer).lease));
  }
  return finishes;
}

void UnitTest::SetUp() {
  StoreTest::SetUp();
  sql("CREATE TABLE effect (name TEXT)");
  sql("CREATE TABLE reservation (order_id INTEGER UNIQUE, amount INTEGER CHECK (amount > 0), "
      "seat INTEGER, UNIQUE (seat, amount))");
}

std::unique_ptr<UnitOfWork> UnitTest::begin(const UnitOptions& options) {
  auto unit = transactional().begin(options);
  EXPECT_TRUE(unit.has_value()) << (unit ? "" : unit.error().message);
  return unit ? std::move(*unit) : nullptr;
}

Batch UnitTest::claim_in_unit(std::vector<Message> messages, const UnitOptions& options) {
  Batch batch{begin(options), std::move(messages), {}};
  auto claims = batch.unit->claim(test::pointers(batch.messages));
  EXPECT_TRUE(claims.has_value()) << (claims ? "" : claims.error().message);
  if (claims) batch.claims = std::move(*claims);
  return batch;
}

void UnitTest::finish_all(Batch& batch) {
  const auto applied = batch.unit->finish(batch.completions());
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_TRUE(std::ranges::all_of(*applied, [](Applied a) { return a == Applied::kYes; }));
}

void UnitTest::commit(Batch& batch) {
  const auto committed = batch.unit->commit();
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
}

std::int64_t UnitTest::count(const std::string& from) {
  const Rows rows = sql("SELECT COUNT(*) FROM " + from);
  return std::get<std::int64_t>(rows.rows.at(0).at(0));
}

RecordedStatement UnitTest::statement(const std::string& sql, std::vector<Value> values) {
  RecordedStatement recorded;
  auto admitted = admit_statement(sql);
  EXPECT_TRUE(admitted.has_value()) << (admitted ? "" : admitted.error().message);
  if (admitted) recorded.statement = std::move(*admitted);
  recorded.values = std::move(values);
  return recorded;
}

StatementList UnitTest::effect(const std::string& name) {
  return {statement("INSERT INTO effect VALUES (?)", {Value(name)})};
}

FlushReport UnitTest::flushed(Batch& batch) {
  auto report = batch.unit->flush();
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
  return std::move(report).value_or(FlushReport());
}

UnitOptions UnitStatementSuite::each() {
  UnitOptions options;
  options.savepoints = Savepoints::kEach;
  return options;
}

Batch UnitStatementSuite::five(const std::set<std::size_t>& bad, const StatementList& statements,
                               const UnitOptions& options) {
  const std::string prefix = "b" + std::to_string(++batches_) + "-";
  Batch batch = claim_in_unit(test::make_messages(consumer(), prefix, 5), options);
  for (std::size_t i = 0; i < 5; ++i) {
    batch.unit->run(i, bad.contains(i) ? statements : effect("good"));
  }
  return batch;
}

void UnitStatementSuite::expect_neighbours(Batch& batch, const std::set<std::size_t>& bad) {
  std::vector<Finish> endings;
  for (std::size_t i = 0; i < 5; ++i) {
    endings.push_back(bad.contains(i) ? test::retrying(batch.lease(i), 30s, &batch.messages[i])
                                      : test::completed(batch.lease(i)));
  }
  const auto applied = batch.unit->finish(endings);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(std::ranges::count(*applied, Applied::kYes), 5);
  commit(batch);
  batch.unit.reset();
  EXPECT_EQ(effects("good"), static_cast<std::int64_t>(5 - bad.size()));
  EXPECT_EQ(effects("bad"), 0);
  for (std::size_t i = 0; i < 5; ++i) {
    const Claim answer = claim(batch.messages[i]);
    EXPECT_EQ(is<Waiting>(answer), bad.contains(i)) << i << ": " << describe(answer);
    EXPECT_EQ(is<Completed>(answer), !bad.contains(i)) << i << ": " << describe(answer);
  }
  sql("DELETE FROM effect");
}

RecordedStatement UnitStatementSuite::book() {
  return statement("UPDATE account SET balance = balance + 1 WHERE id = ?", {std::int64_t{1}});
}

Batch UnitStatementSuite::lock_account() {
  sql("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
  sql("INSERT INTO account VALUES (1, 0)");
  Batch batch = claim_in_unit({message("stranger")});
  batch.unit->run(0, {book()});
  flushed(batch);
  return batch;
}

StatementList UnitStatementSuite::breaking() {
  StatementList list = effect("bad");
  list.push_back(statement("INSERT INTO reservation (order_id, amount) VALUES (1, 0)"));
  list.push_back(effect("bad")[0]);
  return list;
}

}  // namespace semel::conformance
