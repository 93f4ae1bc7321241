// on_unique_violation: the ways in which a person names a constraint, and the server does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cli/server_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

std::string uniqueness(std::string_view table, std::string_view rule) {
  return fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: {{ from: [json:/id] }}\n"
      "    strategy: dedup_table\n"
      "    retry: {{ attempts: 1 }}\n"
      "    handler:\n"
      "      sql:\n"
      "        params: {{ id: json:/id, kind: json:/kind, number: json:/number }}\n"
      "        on_unique_violation: {{ \"{}\": duplicate }}\n"
      "        statements:\n"
      "          - INSERT INTO {}(id, kind, number) VALUES (:id, :kind, :number)\n",
      rule, table);
}

struct Case {
  const char* name;
  const char* table;
  const char* tables;  // what makes it
  const char* rule;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr const char* kTwoLevels =
    "CREATE TABLE entry(id text, kind text, number int, UNIQUE (number, kind)) "
    "PARTITION BY RANGE (number);"
    "CREATE TABLE entry_low PARTITION OF entry FOR VALUES FROM (0) TO (5000) "
    "PARTITION BY LIST (kind);"
    "CREATE TABLE entry_low_blue PARTITION OF entry_low FOR VALUES IN ('blue')";
constexpr const char* kInSchema =
    "CREATE SCHEMA shop; CREATE TABLE shop.entry(id text, kind text, number int UNIQUE)";
constexpr const char* kExpression =
    "CREATE TABLE entry(id text, kind varchar(20), number int);"
    "CREATE UNIQUE INDEX entry_kind ON entry(lower(kind), (number + 1))";

void expect_duplicate(const ServerTestBed& bed, const Case& one, const Ran& ran) {
  EXPECT_NE(ran.out.find("again  duplicate"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("new  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_EQ(bed.number(fmt::format("SELECT count(*) FROM {}", one.table)), 2);
}

void prepare(const ServerTestBed& bed, const Case& one) {
  bed.sql(one.tables);
  bed.sql(fmt::format("INSERT INTO {} VALUES ('old', 'blue', 1000)", one.table));
  const Ran sent = bed.semel({"send", "payments", "-"},
                             {.input = "{\"id\":\"again\",\"kind\":\"blue\",\"number\":1000}\n"
                                       "{\"id\":\"new\",\"kind\":\"blue\",\"number\":1001}\n"});
  ASSERT_EQ(sent.code, 0) << sent.err;
}

void run_case(const ServerKind& kind, const Case& one) {
  const ServerTestBed bed(kind, uniqueness(one.table, one.rule));
  prepare(bed, one);
  const Ran doctor = bed.semel({"doctor"});
  EXPECT_NE(doctor.out.find("[ok  ] D101"), std::string::npos) << doctor.out << doctor.err;
  EXPECT_EQ(doctor.out.find("D137"), std::string::npos) << doctor.out;
  expect_duplicate(bed, one, bed.semel({"run", "--once", "-v"}));
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class PostgresUnique : public ::testing::TestWithParam<Case> {};
TEST_P(PostgresUnique, AViolationFallsUnderTheRuleThatNamesIt) { run_case(kPostgres, GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Names, PostgresUnique,
    ::testing::Values(Case{"OfThePartitionsRoot", "entry", kTwoLevels, "entry(number, kind)"},
                      Case{"OfThePartition", "entry", kTwoLevels, "entry_low_blue(number, kind)"},
                      Case{"WithItsSchema", "shop.entry", kInSchema, "shop.entry(number)"},
                      Case{"WithoutItsSchema", "shop.entry", kInSchema, "entry(number)"},
                      Case{"OfTheConstraint", "shop.entry", kInSchema, "entry_number_key"},
                      Case{"OfAnExpression", "entry", kExpression,
                           "entry(lower(kind), number + 1)"},
                      Case{"OfTheIndex", "entry", kExpression, "entry_kind"}),
    name_of_case);

// The server names no columns to who may not read them.
TEST(PostgresUniqueRights, AUserWhoMayOnlyInsertHasTheRuleToo) {
  const Case one{"", "entry", "CREATE TABLE entry(id text, kind text, number int UNIQUE)",
                 "entry(number)"};
  const ServerTestBed bed(kPostgres, uniqueness(one.table, one.rule));
  prepare(bed, one);
  const std::string user = "u_" + bed.database();
  std::ifstream file(input("tests/cli/postgres/grants.sql"));
  std::stringstream text;
  text << file.rdbuf();
  std::string grants = text.str();
  constexpr std::string_view kWorker = "worker";
  for (auto at = grants.find(kWorker); at != std::string::npos; at = grants.find(kWorker, at)) {
    grants.replace(at, kWorker.size(), user);
    at += user.size();
  }
  bed.sql(fmt::format("CREATE USER {0}; GRANT INSERT ON entry TO {0}", user));
  bed.sql(grants);
  const Ran doctor = bed.semel_at(bed.url_of(user), {"doctor"});
  EXPECT_EQ(doctor.out.find("D137"), std::string::npos) << doctor.out << doctor.err;
  expect_duplicate(bed, one, bed.semel_at(bed.url_of(user), {"run", "--once", "-v"}));
  bed.sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user));
}

// A column that a sequence fills in needs a right on that too, but for an identity column.
TEST(PostgresRights, DoctorNamesASequenceThatTheUserMayNotDrawFrom) {
  const ServerTestBed bed(kPostgres, uniqueness("entry", "entry_pkey"));
  const std::string user = "u_" + bed.database();
  bed.sql(
      "CREATE SEQUENCE \"the line's\"; CREATE TABLE entry(id text PRIMARY KEY, kind text, "
      "number int, line int DEFAULT nextval('\"the line''s\"'), "
      "other int GENERATED ALWAYS AS IDENTITY)");
  ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
  bed.sql(
      fmt::format("CREATE USER {0}; GRANT INSERT ON entry TO {0}; "
                  "GRANT USAGE ON SCHEMA semel TO {0}; "
                  "GRANT ALL ON ALL TABLES IN SCHEMA semel TO {0}; "
                  "GRANT ALL ON ALL SEQUENCES IN SCHEMA semel TO {0}",
                  user));
  const Ran told = bed.semel_at(bed.url_of(user), {"doctor"});
  EXPECT_NE(told.out.find("[fail] D135  payments: handler.sql.statements[0] may not run: "
                          "permission denied for sequence \"the line's\""),
            std::string::npos)
      << told.out << told.err;
  bed.sql(fmt::format("GRANT USAGE ON SEQUENCE \"the line's\" TO {}", user));
  const Ran fine = bed.semel_at(bed.url_of(user), {"doctor"});
  EXPECT_EQ(fine.out.find("D135"), std::string::npos) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("[ok  ] D133"), std::string::npos) << fine.out << fine.err;
  bed.sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user));
}

constexpr const char* kInMySql =
    "CREATE TABLE entry(id varchar(20), kind varchar(20), number int, UNIQUE KEY one_number "
    "(number, kind))";

class MySqlFamilyUnique : public ::testing::TestWithParam<std::tuple<ServerKind, Case>> {};
TEST_P(MySqlFamilyUnique, AViolationFallsUnderTheRuleThatNamesIt) {
  run_case(std::get<0>(GetParam()), std::get<1>(GetParam()));
}

std::vector<ServerKind> mysql_family() {
  std::vector<ServerKind> kinds = server_kinds();
  std::erase_if(kinds, [](const ServerKind& kind) { return kind.page == kPostgres.page; });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(
    Names, MySqlFamilyUnique,
    ::testing::Combine(::testing::ValuesIn(mysql_family()),
                       ::testing::Values(Case{"OfTheTable", "entry", kInMySql,
                                              "entry(number, kind)"},
                                         Case{"OfTheKey", "entry", kInMySql, "one_number"})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
    });

// MariaDB has no index over an expression.
TEST(MySqlUnique, AViolationOfAnExpressionFallsUnderItsRule) {
  for (const ServerKind& kind : mysql_family()) {
    if (kind.name != kMySql.name) continue;
    run_case(kind, {"", "entry",
                    "CREATE TABLE entry(id varchar(20), kind varchar(20), number int, "
                    "UNIQUE KEY entry_kind ((lower(kind)), number))",
                    "entry(lower(kind), number)"});
  }
}

// In another database of the same server.
TEST_P(MySqlFamilyUnique, AlsoInAnotherDatabase) {
  const auto& [kind, one] = GetParam();
  const std::string other = kind.shared().new_database();
  const std::string table = other + ".entry";
  const std::string rule =
      one.rule == std::string("one_number") ? "one_number" : table + "(number, kind)";
  const Case there{one.name, table.c_str(), "SELECT 1", rule.c_str()};
  const ServerTestBed bed(kind, uniqueness(table, rule));
  kind.shared().query(other, kInMySql);
  prepare(bed, there);
  EXPECT_EQ(bed.semel({"doctor"}).out.find("D137"), std::string::npos);
  expect_duplicate(bed, there, bed.semel({"run", "--once", "-v"}));
}

class UniqueDoctor : public ::testing::TestWithParam<ServerKind> {};

TEST_P(UniqueDoctor, NamesARuleUnderWhichNothingFalls) {
  for (const char* rule : {"entry(kind)", "entry_of_old", "others(id)"}) {
    SCOPED_TRACE(rule);
    const ServerTestBed bed(GetParam(), uniqueness("entry", rule));
    bed.sql("CREATE TABLE entry(id varchar(20) PRIMARY KEY, kind varchar(20), number int)");
    ASSERT_EQ(bed.semel({"store", "init", "-q"}).code, 0);
    const Ran told = bed.semel({"doctor"});
    EXPECT_EQ(told.code, 1) << told.out << told.err;
    EXPECT_NE(told.out.find(fmt::format("[fail] D137  payments: handler.sql.on_unique_violation: "
                                        "the store's database has no unique constraint {}",
                                        rule)),
              std::string::npos)
        << told.out << told.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, UniqueDoctor, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
