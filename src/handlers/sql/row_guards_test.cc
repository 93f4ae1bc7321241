#include "handlers/sql/row_guards.h"

#include <gtest/gtest.h>

#include "core/transaction_recorder.h"

namespace semel::handlers {
namespace {

struct RowsToTell final : core::TransactionRecorder::Queries {
  Rows query(const RecordedStatement&, StatementList&) override { return rows; }
  Rows rows;
};

Message message_of(std::string_view payload) {
  Message::Parts parts;
  parts.payload = payload;
  return Message(std::move(parts));
}

std::map<std::string, core::SqlParam> id_param() {
  core::SqlParam id;
  id.pointer = json::Pointer::parse("/id").value();
  return {{"id", id}};
}

core::LockSpec lock(std::string select = "SELECT a FROM t WHERE id = :id FOR UPDATE") {
  return {std::move(select), "a = 1", id_param()};
}

core::VersionSpec version_spec() {
  core::VersionSpec spec;
  spec.from.pointer = json::Pointer::parse("/v").value();
  spec.current = "SELECT v FROM shop.invoice WHERE id = :id";
  spec.params = id_param();
  return spec;
}

RecordedStatement recorded(const RowGuard& guard, const std::string& payload) {
  RowsToTell none;
  core::TransactionRecorder recorder(none);
  Transaction transaction(recorder, Attempt{});
  guard(message_of(payload), transaction);
  EXPECT_EQ(recorder.statements().size(), 1U);
  return recorder.statements().front();
}

TEST(LockGuard, RecordsItsSelectWithItsRuleAndItsLock) {
  const RowGuard guard = make_lock_guard(lock(), core::RowLocks::kForUpdate).value();
  const RecordedStatement made = recorded(guard, R"({"id":7})");
  EXPECT_NE(made.statement->sql.find("semel_done FROM t WHERE id = ? FOR UPDATE"),
            std::string::npos)
      << made.statement->sql;
  EXPECT_TRUE(made.statement->only_reads());
  EXPECT_EQ(made.values, std::vector<Value>{Value(std::int64_t{7})});
  EXPECT_TRUE(made.rule);
  EXPECT_TRUE(made.lock);
}

TEST(LockGuard, OneRowHasOneName) {
  const RowGuard guard = make_lock_guard(lock(), core::RowLocks::kForUpdate).value();
  const RowGuard same = make_lock_guard(lock(), core::RowLocks::kForUpdate).value();
  const RowGuard other =
      make_lock_guard(lock("SELECT a FROM u WHERE id = :id FOR UPDATE"), core::RowLocks::kForUpdate)
          .value();
  const auto seven = recorded(guard, R"({"id":7})").lock;
  EXPECT_EQ(recorded(same, R"({"id":7,"more":1})").lock, seven);
  EXPECT_EQ(recorded(guard, R"({"id":"7"})").lock, seven) << "a column takes both for one";
  EXPECT_NE(recorded(guard, R"({"id":8})").lock, seven);
  EXPECT_NE(recorded(guard, R"({"id":null})").lock, seven);
  EXPECT_NE(recorded(other, R"({"id":7})").lock, seven);
}

TEST(LockGuard, WhatItsParamsCannotBeIsInvalid) {
  const RowGuard guard = make_lock_guard(lock(), core::RowLocks::kForUpdate).value();
  for (const char* payload : {"{}", R"({"id":[1]})", "no JSON"}) {
    EXPECT_THROW(recorded(guard, payload), PayloadInvalid) << payload;
  }
  EXPECT_FALSE(make_lock_guard(lock("SELECT a FROM t"), core::RowLocks::kForUpdate));
  EXPECT_FALSE(
      make_lock_guard(lock("SELECT a FROM t WHERE x = :x FOR UPDATE"), core::RowLocks::kForUpdate));
}

TEST(VersionGuard, JudgesByTheMessagesVersion) {
  const RowGuard guard = make_version_guard(version_spec(), core::RowLocks::kForUpdate).value();
  const RecordedStatement made = recorded(guard, R"({"id":7,"v":3})");
  EXPECT_FALSE(made.lock) << "nobody is kept from the row";
  ASSERT_TRUE(made.rule);
  EXPECT_FALSE(made.rule->judge(1, {{"v"}, {{Value(std::int64_t{3})}}}));
  EXPECT_TRUE(made.rule->judge(1, {{"v"}, {{Value(std::int64_t{4})}}})->duplicate);
  for (const char* payload : {R"({"id":7})", R"({"id":7,"v":null})", R"({"id":7,"v":"3"})",
                              R"({"id":7,"v":2.5})", "[]", R"({"v":3})", "no JSON"}) {
    EXPECT_THROW(recorded(guard, payload), PayloadInvalid) << payload;
  }
}

TEST(VersionGuard, TheFirstWriteOfItsTableMustChangeARow) {
  const RowGuard guard = make_version_guard(version_spec(), core::RowLocks::kForUpdate).value();
  RowsToTell queries;
  core::TransactionRecorder recorder(queries);
  Transaction transaction(recorder, Attempt{});
  guard(message_of(R"({"id":7,"v":3})"), transaction);
  transaction.exec("INSERT INTO log VALUES (1)");
  EXPECT_TRUE(recorder.awaits_write());
  transaction.exec("UPDATE Invoice SET v = 4 WHERE v = 3");
  EXPECT_FALSE(recorder.awaits_write());
  transaction.exec("UPDATE invoice SET seen = 1");
  const StatementList& list = recorder.statements();
  ASSERT_EQ(list.size(), 4U);
  EXPECT_FALSE(list[1].rule);
  ASSERT_TRUE(list[2].rule);
  EXPECT_TRUE(list[2].rule->judge(0, {}));
  EXPECT_FALSE(list[2].rule->judge(1, {}));
  EXPECT_FALSE(list[3].rule) << "only the first compares";
}

TEST(VersionGuard, SoMustOneThatIsAskedForItsRows) {
  const RowGuard guard = make_version_guard(version_spec(), core::RowLocks::kForUpdate).value();
  const Message message = message_of(R"({"id":7,"v":3})");
  constexpr const char* kWrite = "UPDATE invoice SET v = 4 WHERE v = 3 RETURNING v";
  RowsToTell queries;
  core::TransactionRecorder lost_recorder(queries);
  Transaction lost(lost_recorder, Attempt{});
  guard(message, lost);
  EXPECT_THROW(lost.query(kWrite), StatementFailed);
  queries.rows.rows = {{Value(std::int64_t{4})}};
  core::TransactionRecorder won_recorder(queries);
  Transaction won(won_recorder, Attempt{});
  guard(message, won);
  EXPECT_EQ(won.query(kWrite).rows.size(), 1U);
  EXPECT_FALSE(won_recorder.awaits_write());
}

}  // namespace
}  // namespace semel::handlers
