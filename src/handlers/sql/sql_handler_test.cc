#include "handlers/sql/sql_handler.h"

#include <gtest/gtest.h>

#include "core/key_encoding.h"
#include "core/transaction_recorder.h"

namespace semel::handlers {
namespace {

using Type = core::SqlParam::Type;

struct NoQueries final : core::TransactionRecorder::Queries {
  Rows query(const RecordedStatement&, StatementList&) override { return {}; }
};

core::SqlParam param(std::string_view pointer, Type type = Type::kAsWritten,
                     bool optional = false) {
  return {*json::Pointer::parse(pointer), type, optional};
}

Message message(std::string_view payload) {
  Message::Parts parts;
  parts.payload = payload;
  return Message(std::move(parts));
}

TEST(SqlApply, ParametersComeFromMessageAndAnswer) {
  core::SqlSpec spec;
  spec.params["id"] = param("/id");
  spec.params["charge"] = param("/charge/id");
  spec.params["charge"].of_answer = true;
  spec.statements = {{"UPDATE orders SET charge = :charge WHERE id = :id", {}, {}}};
  const auto apply = make_sql_apply(spec);
  ASSERT_TRUE(apply) << apply.error().message;
  NoQueries queries;
  core::TransactionRecorder recorder(queries);
  Transaction transaction(recorder, Attempt{});
  const Bytes answer = R"({"charge":{"id":"ch-7"}})";
  EXPECT_EQ((*apply)(message(R"({"id":3})"), answer, transaction).kind(), Verdict::Kind::kDone);
  ASSERT_EQ(recorder.statements().size(), 1U);
  EXPECT_EQ(recorder.statements()[0].values,
            (std::vector<Value>{std::string("ch-7"), std::int64_t{3}}));
  for (const char* bad : {"", "no json", "{}"}) {
    EXPECT_THROW((void)(*apply)(message(R"({"id":3})"), bad, transaction), PayloadInvalid) << bad;
  }
}

class SqlHandlerTest : public testing::Test {
 protected:
  // Handles `payload`; returns the recorded statements, or the refusal's text.
  StatementList run(std::string_view payload) {
    auto handler = make_sql_handler(spec_, decimals_);
    EXPECT_TRUE(handler) << handler.error().message;
    if (!handler) return {};
    NoQueries queries;
    core::TransactionRecorder recorder(queries);
    Transaction transaction(recorder, Attempt{});
    invalid_.clear();
    try {
      EXPECT_EQ((*handler)(message(payload), transaction).kind(), Verdict::Kind::kDone);
    } catch (const PayloadInvalid& refusal) {
      invalid_ = refusal.what();
    }
    return recorder.statements();
  }
  // The value of the only parameter for a member `v` of the message.
  Value value(std::string_view json, Type type = Type::kAsWritten) {
    spec_ = {};
    spec_.params["v"] = param("/v", type);
    spec_.statements = {{"INSERT INTO t VALUES (:v)", {}, {}}};
    const StatementList list = run("{\"v\":" + std::string(json) + "}");
    return list.empty() ? Value(std::string("REFUSED ") + invalid_) : list[0].values.at(0);
  }
  bool refused(std::string_view json, Type type) {
    const Value got = value(json, type);
    const auto* text = std::get_if<std::string>(&got);
    return text != nullptr && text->starts_with("REFUSED");
  }
  std::string error() {
    auto handler = make_sql_handler(spec_);
    return handler ? "" : handler.error().message;
  }

  core::SqlSpec spec_;
  core::Decimals decimals_ = core::Decimals::kDoubles;
  std::string invalid_;
};

TEST_F(SqlHandlerTest, RecordsItsStatementsWithTheMessagesValues) {
  spec_.params["amount"] = param("/amount");
  spec_.params["account"] = param("/to/account");
  spec_.statements = {
      {"UPDATE account SET balance = balance + :amount WHERE id = :account",
       1,
       {dead("none"), false}},
      {"INSERT INTO log(account, amount, again) VALUES (:account, :amount, :account);", {}, {}}};
  spec_.on_unique_violation = {{"log(account)", {done(), true}}};
  const StatementList list = run(R"({"amount":-12,"to":{"account":"DE-77"}})");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].statement->sql, "UPDATE account SET balance = balance + ? WHERE id = ?");
  EXPECT_EQ(list[0].values, (std::vector<Value>{std::int64_t{-12}, "DE-77"}));
  EXPECT_EQ(list[0].expect_rows, 1);
  EXPECT_EQ(list[0].otherwise.verdict.reason(), "none");
  EXPECT_EQ(list[1].values, (std::vector<Value>{"DE-77", std::int64_t{-12}, "DE-77"}));
  EXPECT_FALSE(list[1].expect_rows);
  ASSERT_TRUE(list[1].unique_rules);
  EXPECT_EQ(list[1].unique_rules->at(0).constraint, "log(account)");
  EXPECT_EQ(list[0].unique_rules, list[1].unique_rules) << "shared, not copied";
}

TEST_F(SqlHandlerTest, AsWritten) {
  EXPECT_EQ(value("7"), Value(std::int64_t{7}));
  EXPECT_EQ(value("-9223372036854775808"), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(value("1.5"), Value(1.5));
  EXPECT_EQ(value("1e2"), Value(100.0));
  EXPECT_EQ(value("\"x'; DROP TABLE t; --\""), Value("x'; DROP TABLE t; --"));
  EXPECT_EQ(value("\"a\\u0000b\""), Value(std::string("a\0b", 3)));
  EXPECT_EQ(value("true"), Value(std::int64_t{1}));
  EXPECT_EQ(value("false"), Value(std::int64_t{0}));
  EXPECT_EQ(value("null"), Value(Null{}));
  for (const char* const json : {"{}", "[1]", "9223372036854775808", "1e999"}) {
    EXPECT_TRUE(refused(json, Type::kAsWritten)) << json;
  }
}

constexpr const char* kLong = "12345678901234567.89";

TEST_F(SqlHandlerTest, ANumberKeepsItsDigitsOrIsRefused) {
  decimals_ = core::Decimals::kKept;
  for (const char* const json :
       {"1.50", "1e2", "-0.1234567890123456789", kLong, "9223372036854775808", "1e999"}) {
    EXPECT_EQ(value(json), Value(Decimal{json})) << "a server keeps it";
  }
  EXPECT_EQ(value("7"), Value(std::int64_t{7}));
  decimals_ = core::Decimals::kDoubles;
  EXPECT_EQ(value("0.1"), Value(0.1));
  EXPECT_EQ(value("0.10000000000000001"), Value(0.1)) << "all that tells a double from others";
  for (const char* const json : {kLong, "-0.1234567890123456789"}) {
    EXPECT_TRUE(refused(json, Type::kAsWritten)) << json;
    EXPECT_NE(invalid_.find("type: real"), std::string::npos) << invalid_;
    EXPECT_FALSE(refused(json, Type::kReal)) << "it was asked for";
    EXPECT_EQ(value(json, Type::kText), Value(json));
  }
}

TEST_F(SqlHandlerTest, ADecimalMayStandInAText) {
  decimals_ = core::Decimals::kKept;
  for (const char* const json : {"7", "1.50", kLong}) {
    EXPECT_EQ(value(json, Type::kDecimal), Value(Decimal{json}));
    EXPECT_EQ(value('"' + std::string(json) + '"', Type::kDecimal), Value(Decimal{json}));
  }
  decimals_ = core::Decimals::kDoubles;
  EXPECT_EQ(value("\"7.0\"", Type::kDecimal), Value(std::int64_t{7}));
  EXPECT_EQ(value("\"1.50\"", Type::kDecimal), Value(1.5));
  EXPECT_TRUE(refused(kLong, Type::kDecimal));
  EXPECT_TRUE(refused('"' + std::string(kLong) + '"', Type::kDecimal));
  for (const core::Decimals decimals : {core::Decimals::kKept, core::Decimals::kDoubles}) {
    decimals_ = decimals;
    for (const char* const json : {"\"\"", "\"1,5\"", "\"NaN\"", "\"1 \"", "true", "[1]", "{}"}) {
      EXPECT_TRUE(refused(json, Type::kDecimal)) << json;
    }
    EXPECT_EQ(value("null", Type::kDecimal), Value(Null{}));
  }
}

TEST_F(SqlHandlerTest, AnyValueIsJson) {
  for (const char* const json : {R"({"a": [1, 2.50], "b": null})", "[]", "1.50", "true", "false",
                                 R"("it's \"quoted\"")", "12345678901234567890"}) {
    EXPECT_EQ(value(json, Type::kJson), Value(std::string(json)));
  }
  EXPECT_EQ(value("null", Type::kJson), Value(Null{}));
}

TEST_F(SqlHandlerTest, DeclaredTypesConvertOnlyWithoutLoss) {
  EXPECT_EQ(value("5", Type::kInteger), Value(std::int64_t{5}));
  EXPECT_EQ(value("5.0", Type::kInteger), Value(std::int64_t{5}));
  EXPECT_EQ(value("5e3", Type::kInteger), Value(std::int64_t{5000}));
  for (const char* const json :
       {"5.5", "\"5\"", "true", "{}", "9223372036854775808", "1e300", "9007199254740993.0"}) {
    EXPECT_TRUE(refused(json, Type::kInteger)) << json;
  }
  EXPECT_EQ(value("5", Type::kReal), Value(5.0));
  EXPECT_EQ(value("0.1", Type::kReal), Value(0.1));
  for (const char* const json : {"9007199254740993", "9223372036854775807", "\"1.5\"", "1e999"}) {
    EXPECT_TRUE(refused(json, Type::kReal)) << json;
  }
  EXPECT_EQ(value("\"a\"", Type::kText), Value("a"));
  EXPECT_EQ(value("12345678901234567890123", Type::kText), Value("12345678901234567890123"));
  EXPECT_EQ(value("1.10", Type::kText), Value("1.10")) << "as it is written";
  EXPECT_TRUE(refused("true", Type::kText));
  EXPECT_TRUE(refused("[]", Type::kText));
  EXPECT_EQ(value("true", Type::kBoolean), Value(std::int64_t{1}));
  EXPECT_EQ(value("0", Type::kBoolean), Value(std::int64_t{0}));
  EXPECT_TRUE(refused("2", Type::kBoolean));
  EXPECT_TRUE(refused("\"true\"", Type::kBoolean));
  for (const Type type : {Type::kInteger, Type::kReal, Type::kText, Type::kBoolean}) {
    EXPECT_EQ(value("null", type), Value(Null{}));
  }
}

TEST_F(SqlHandlerTest, AMissingValueIsInvalidUnlessItIsOptional) {
  spec_.params["a"] = param("/a", Type::kInteger);
  spec_.params["b"] = param("/b/c", Type::kAsWritten, true);
  spec_.statements = {{"INSERT INTO t VALUES (:a, :b)", {}, {}}};
  EXPECT_EQ(run("{\"a\":1}").at(0).values, (std::vector<Value>{std::int64_t{1}, Null{}}));
  EXPECT_EQ(run("{\"b\":{\"c\":1}}").size(), 0U);
  EXPECT_NE(invalid_.find(":a"), std::string::npos) << invalid_;
  EXPECT_NE(invalid_.find("/a"), std::string::npos) << invalid_;
  EXPECT_NE(invalid_.find("nothing"), std::string::npos) << invalid_;
}

TEST_F(SqlHandlerTest, HostileMessagesAreInvalidAndNothingIsRecorded) {
  spec_.params["a"] = param("/a");
  spec_.statements = {{"INSERT INTO t VALUES (:a)", {}, {}}};
  const std::string deep(5'000, '[');
  for (const std::string& payload :
       {std::string(), std::string("not json"), std::string("{\"a\":1"),
        std::string("{\"a\":\"\xFF\"}"), std::string("{\"a\":1,\"a\":2}"), std::string("\0", 1),
        deep, std::string("[1]"), std::string("{\"a\":{}}")}) {
    EXPECT_EQ(run(payload).size(), 0U) << payload;
    EXPECT_FALSE(invalid_.empty()) << payload;
  }
  EXPECT_EQ(run("{\"a\":1}").size(), 1U) << "a good one behind them is handled";
}

TEST_F(SqlHandlerTest, AStatementWithoutParamsAsksNothingOfTheMessage) {
  spec_.statements = {{"UPDATE counter SET n = n + 1", {}, {}}};
  EXPECT_EQ(run("not json").size(), 1U);
}

TEST_F(SqlHandlerTest, WhatIsNotAdmittedIsRefusedByItsPlace) {
  spec_.params["a"] = param("/a");
  spec_.statements = {{"INSERT INTO t VALUES (:a)", {}, {}}, {"COMMIT", {}, {}}};
  EXPECT_NE(error().find("statement 2 of 2"), std::string::npos) << error();
  for (const char* const sql :
       {"DROP TABLE t", "PRAGMA journal_mode", "ATTACH 'x' AS y", "DELETE FROM semel_live", "",
        "INSERT INTO t VALUES (:a); DELETE FROM t", "INSERT INTO t VALUES ('open"}) {
    spec_.statements[1].sql = sql;
    EXPECT_NE(error(), "") << sql;
  }
  spec_.statements.clear();
  EXPECT_NE(error(), "");
}

TEST_F(SqlHandlerTest, AParameterThatIsNotThereIsRefusedByItsName) {
  spec_.params["a"] = param("/a");
  spec_.statements = {{"INSERT INTO t VALUES (:a, :b)", {}, {}}};
  EXPECT_NE(error().find(":b"), std::string::npos) << error();
  spec_.statements = {{"INSERT INTO t VALUES (:a, ?)", {}, {}}};
  EXPECT_NE(error().find("no name"), std::string::npos) << error();
}

TEST_F(SqlHandlerTest, SeveralThreadsAtATime) {
  spec_.params["a"] = param("/a");
  spec_.statements = {{"INSERT INTO t VALUES (:a)", {}, {}}};
  auto handler = make_sql_handler(spec_);
  ASSERT_TRUE(handler);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      NoQueries queries;
      for (int i = 0; i < 500; ++i) {
        const std::int64_t number = t * 1'000 + i;
        core::TransactionRecorder recorder(queries);
        Transaction transaction(recorder, Attempt{});
        const Verdict verdict =
            (*handler)(message("{\"a\":" + std::to_string(number) + "}"), transaction);
        right += verdict.kind() == Verdict::Kind::kDone &&
                 recorder.statements()[0].values[0] == Value(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 2'000);
}

}  // namespace
}  // namespace semel::handlers
