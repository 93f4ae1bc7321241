// Numbers and JSON of a message, as they reach a database server: digit by digit.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/server_test_bed.h"

namespace semel::test {
namespace {

constexpr const char* kNumbersConsumer =
    "    source: { queue: {} }\n"
    "    key: { from: [json:/id] }\n"
    "    handler:\n"
    "      sql:\n"
    "        params:\n"
    "          id: json:/id\n"
    "          plus: json:/plus\n"
    "          minus: { from: json:/minus, type: decimal }\n"
    "          body: { from: json:/body, type: json }\n"
    "        statements:\n"
    "          - UPDATE wallet SET balance = balance + :plus - :minus\n"
    "          - INSERT INTO document (id, body) VALUES (:id, :body)\n";

class ServerNumbers : public ::testing::TestWithParam<ServerKind> {};

TEST_P(ServerNumbers, KeepTheirDigitsAndAnObjectIsJson) {
  const ServerTestBed bed(GetParam(), kNumbersConsumer);
  const bool postgres = GetParam().page == kPostgres.page;
  bed.sql("CREATE TABLE wallet (balance DECIMAL(50, 20))");
  bed.sql("INSERT INTO wallet VALUES (12345678901234567.5)");
  bed.sql(std::string("CREATE TABLE document (id VARCHAR(40), body ") +
          (postgres ? "jsonb)" : "JSON)"));
  const std::string message =
      R"({"id":"m-1","plus":0.25000000000000000001,"minus":"0.00000000000000000002",)"
      R"("body":{"name":"it's \"one\"","items":[1,2.50]}})";
  ASSERT_EQ(bed.semel({"send", "payments", message}).code, 0);
  const Ran ran = bed.semel({"run", "--once", "-q"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.number("SELECT count(*) FROM wallet WHERE balance = "
                       "12345678901234567.74999999999999999999"),
            1);
  const std::string name =
      postgres ? "body->>'name'" : "JSON_UNQUOTE(JSON_EXTRACT(body, '$.name'))";
  const std::string second = postgres ? "body#>>'{items,1}'" : "JSON_EXTRACT(body, '$.items[1]')";
  EXPECT_EQ(bed.number("SELECT count(*) FROM document WHERE " + name + " = 'it''s \"one\"' AND " +
                       second + " LIKE '2.5%'"),
            1);
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerNumbers, ::testing::ValuesIn(server_kinds()),
                         [](const auto& one) { return name_of_kind(one.param); });

}  // namespace
}  // namespace semel::test
