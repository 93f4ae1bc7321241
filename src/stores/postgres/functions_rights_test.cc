// Rights to call the SQL functions, and the versions of tables that they work on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "stores/postgres/schema.h"
#include "stores/postgres/test_functions.h"
#include "stores/sql/function_texts.h"

namespace semel::postgres {
namespace {

class FunctionsRights : public FunctionsTest {
 protected:
  FunctionsRights() { sql(fmt::format("CREATE ROLE {} LOGIN", role_)); }
  ~FunctionsRights() override { sql(fmt::format("DROP OWNED BY {0}; DROP ROLE {0}", role_)); }
  static std::string newest() { return std::to_string(sql::kFunctionsVersion); }
  void become_the_role() { client_.ask("SET ROLE " + role_); }
  PostgresOptions options(const std::string& schema = "semel") const {
    PostgresOptions options;
    options.url = url();
    options.schema = schema;
    return options;
  }
  // As a version before the last forms left them, called by the role.
  void make_former_forms() {
    sql("DROP FUNCTION semel.begin(text, text, text, interval, bytea, bytea)");
    sql("DROP FUNCTION semel.begin(text, text, bytea, interval, bytea, bytea)");
    sql("DROP FUNCTION semel.fingerprint(text)");
    sql("DROP FUNCTION semel.release(text, text, bytea)");
    sql("CREATE FUNCTION semel.begin(consumer text, key text, payload text, lease interval DEFAULT "
        "'1 minute') RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
    sql(fmt::format(
        "GRANT USAGE ON SCHEMA semel TO {0}; GRANT EXECUTE ON FUNCTION semel.begin(text, text, "
        "text, interval), semel.fingerprint(bytea), "
        "semel.retry(text, text, bytea, interval, text, text) TO {0}",
        role_));
  }
  void expect_grants_of_former_forms() {
    become_the_role();
    EXPECT_EQ(client_.ask("SELECT outcome FROM semel.begin('payments', 'k', '{}')"), "new");
    EXPECT_EQ(client_.refused("SELECT semel.fingerprint('{}')").state, "");
    EXPECT_EQ(client_.ask("SELECT semel.release('payments', 'k', 'nnnnnnnnnnnnnnnn')"),
              "lease_lost");
    EXPECT_EQ(client_.refused("SELECT semel.begin('payments', 'k', '{}'::bytea)").state, "42501")
        << "it had no grant before";
    client_.ask("RESET ROLE");
  }
  // As psql does: each statement by itself, and on after one that fails.
  void run_script(std::string_view script) {
    std::size_t begin = 0;
    bool in_body = false;
    for (std::size_t at = 0; at < script.size(); ++at) {
      if (script.substr(at).starts_with("$semel$")) in_body = !in_body;
      if (in_body || !script.substr(at).starts_with(";\n")) continue;
      client_.refused(std::string(script.substr(begin, at + 1 - begin)));
      begin = at + 1;
    }
    EXPECT_EQ(script.substr(begin), "\n") << "a statement without an end";
  }
  std::string functions_in(const std::string& schema) const {
    return sql(
        "SELECT count(*) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = "
        "p.pronamespace WHERE n.nspname = '" +
        schema + "'");
  }

  // Roles belong to the server, which others use too.
  const std::string role_ = "least_" + database_;
};

TEST_F(FunctionsRights, TheLeastRoleClaimsAndSeesNoTable) {
  become_the_role();
  EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k')").state, "42501");
  client_.ask("RESET ROLE");
  sql(fmt::format("GRANT USAGE ON SCHEMA semel TO {0}", role_));
  become_the_role();
  EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k')").state, "42501")
      << "nobody may call them until it is granted";
  client_.ask("RESET ROLE");
  sql(fmt::format("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA semel TO {0}", role_));
  become_the_role();
  EXPECT_EQ(claimed(client_, "k"), "new");
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
  EXPECT_EQ(begun(client_, "leased").outcome, "new");
  EXPECT_EQ(client_.ask("SELECT key FROM semel.claim_many('payments', ARRAY['m'])"), "m");
  for (const char* const forbidden :
       {"SELECT * FROM semel.semel_record", "SELECT * FROM semel.semel_meta",
        "DELETE FROM semel.semel_record", "SELECT nextval('semel.semel_token')",
        "SELECT semel.semel_place('payments')", "SELECT semel.semel_answer('a', 'b')",
        "SELECT semel.semel_claim_one('a', 'b', 1)"}) {
    EXPECT_EQ(client_.refused(forbidden).state, "42501") << forbidden;
  }
}

// The forms that take text call those that take bytes.
TEST_F(FunctionsRights, AGrantOfOneFunctionIsEnoughToCallIt) {
  const std::pair<const char*, const char*> calls[] = {
      {"claim(text, text, text)", "claim('payments', 'a', '{}')"},
      {"begin(text, text, text, interval, bytea, bytea)", "begin('payments', 'b', '{}')"},
      {"publish(text, text, text, jsonb, text, text, interval)", "publish('payments', 'm')"},
      {"fingerprint(text)", "fingerprint('m')"},
  };
  sql(fmt::format("GRANT USAGE ON SCHEMA semel TO {}", role_));
  for (const auto& [signature, call] : calls) {
    sql(fmt::format("GRANT EXECUTE ON FUNCTION semel.{} TO {}", signature, role_));
    become_the_role();
    EXPECT_EQ(client_.refused(fmt::format("SELECT semel.{}", call)).state, "") << call;
    client_.ask("RESET ROLE");
  }
  become_the_role();
  for (const char* const forbidden :
       {"SELECT semel.claim('payments', 'a', '{}'::bytea)",
        "SELECT semel.publish('payments', 'm'::bytea)",
        "INSERT INTO semel.semel_held (row_id) "
        "VALUES (1)",
        "SELECT * FROM semel.semel_held", "SELECT semel.semel_receiver('payments')",
        "SELECT nextval('semel.semel_held_number')"}) {
    EXPECT_EQ(client_.refused(forbidden).state, "42501") << forbidden;
  }
}

TEST_F(FunctionsRights, AFormOfAnEarlierVersionGoes) {
  sql("CREATE FUNCTION semel.begin(consumer text, key text, payload bytea DEFAULT NULL, lease "
      "interval DEFAULT '1 minute', fingerprint bytea DEFAULT NULL) RETURNS text LANGUAGE sql AS "
      "'SELECT NULL::text'");
  sql("CREATE FUNCTION semel.begin(consumer text, key text, payload text, lease interval DEFAULT "
      "'1 minute') RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
  for (const char* const call : {"begin('payments', 'k')", "begin('payments', 'k', '{}')"}) {
    EXPECT_EQ(client_.refused(fmt::format("SELECT semel.{}", call)).state, "42725")
        << call << ": which of the two?";
  }
  make_functions(client_.connection(), "semel");
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.begin('payments', 'k')"), "new");
  EXPECT_EQ(client_.ask("SELECT outcome FROM semel.begin('payments', 'j', '{}')"), "new");
}

TEST_F(FunctionsRights, GrantsStayWhereAFunctionHasAnotherFormNow) {
  make_former_forms();
  make_functions(client_.connection(), "semel");
  expect_grants_of_former_forms();
}

TEST_F(FunctionsRights, GrantsStayWhereAScriptReplacesTheFunctions) {
  make_former_forms();
  run_script(postgres_functions_sql(options()).value());
  expect_grants_of_former_forms();
}

TEST_F(FunctionsRights, AScriptThatFailsLeavesNothingOfIt) {
  const auto failing = [](std::string script, std::string_view before) {
    return script.insert(script.rfind(before), "SELECT 1 / 0;\n");
  };
  run_script(failing(postgres_schema_change(options("other")).value().sql, "DELETE FROM"));
  EXPECT_EQ(sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'other'"), "0");
  sql("CREATE SCHEMA other");
  run_script(failing(postgres_functions_sql(options("other")).value(), "REVOKE"));
  EXPECT_EQ(functions_in("other"), "0");
  const std::string all = functions_in("semel");
  const std::string drop = postgres_functions_drop_sql(options()).value();
  run_script(failing(drop, "DROP"));
  EXPECT_EQ(functions_in("semel"), all);
  run_script(drop);
  EXPECT_EQ(functions_in("semel"), "0");
  run_script(postgres_functions_sql(options()).value());
  EXPECT_EQ(functions_in("semel"), all);
}

TEST_F(FunctionsRights, AGrantToEverybodyStaysAndANewFunctionIsNobodys) {
  sql(
      fmt::format("GRANT USAGE ON SCHEMA semel TO {}; GRANT EXECUTE ON FUNCTION "
                  "semel.claim(text, text, text) TO PUBLIC; DROP FUNCTION "
                  "semel.dead(text, text, bytea, text, text)",
                  role_));
  // As a script leaves a function that it was ended behind.
  sql("DROP FUNCTION semel.release(text, text, bytea); CREATE FUNCTION semel.release(consumer "
      "text, key text, nonce bytea) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(make_postgres_functions(options()).has_value());
    become_the_role();
    EXPECT_EQ(client_.refused("SELECT semel.claim('payments', 'k', '{}')").state, "");
    for (const char* const forbidden :
         {"claim('payments', 'k', '{}'::bytea)", "dead('payments', 'k', 'n')",
          "release('payments', 'k', 'n')", "semel_number('payments')"}) {
      EXPECT_EQ(client_.refused(fmt::format("SELECT semel.{}", forbidden)).state, "42501")
          << forbidden;
    }
    client_.ask("RESET ROLE");
  }
}

TEST_F(FunctionsRights, NothingOfTheCallersStandsBeforeTheTables) {
  sql(
      fmt::format("GRANT USAGE ON SCHEMA semel TO {0}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "
                  "semel TO {0}; CREATE SCHEMA trap AUTHORIZATION {0}",
                  role_));
  become_the_role();
  client_.ask(
      "CREATE FUNCTION trap.sha256(bytea) RETURNS bytea LANGUAGE sql AS "
      "$$ SELECT 'x'::bytea $$");
  client_.ask("CREATE TEMPORARY TABLE semel_meta (generations bigint, epoch bigint)");
  client_.ask("SET search_path = trap, pg_temp, pg_catalog");
  EXPECT_EQ(claimed(client_, "k"), "new");
  client_.ask("RESET search_path");
  client_.ask("RESET ROLE");
  EXPECT_EQ(claimed(client_, "k"), "duplicate") << "the id is of the server's own digest";
}

// Functions and operators of exactly the arguments that ours give: the server prefers them to its
// own where their schema comes first.
TEST_F(FunctionsRights, NothingOfTheCallersIsCalledInPlaceOfTheServers) {
  const char* const uuid = "0190163d-8694-739b-aea5-966c26f8ad91";
  sql(
      fmt::format("GRANT USAGE ON SCHEMA semel TO {0}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "
                  "semel TO {0}; CREATE SCHEMA trap AUTHORIZATION {0}",
                  role_));
  become_the_role();
  client_.ask(
      "CREATE FUNCTION trap.told(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'trapped: % as %', what, current_user; END $$");
  for (const char* const function :
       {"octet_length(text) RETURNS integer", "octet_length(bytea) RETURNS integer",
        "replace(text, text, text) RETURNS text", "ltrim(text, text) RETURNS text",
        "decode(text, text) RETURNS bytea", "substr(bytea, integer) RETURNS bytea",
        "int8send(bigint) RETURNS bytea", "sha256(bytea) RETURNS bytea",
        "current_setting(text) RETURNS text", "set_config(text, text, boolean) RETURNS text",
        "clock_timestamp() RETURNS timestamptz"}) {
    client_.ask(
        fmt::format("CREATE FUNCTION trap.{} LANGUAGE plpgsql AS $$ BEGIN PERFORM "
                    "trap.told('function'); END $$",
                    function));
  }
  for (const char* const operands :
       {"= text text", "= bigint bigint", "= integer integer", "= bytea bytea", "<> bytea bytea",
        "<> bigint bigint", "~~ text text", "<= timestamptz timestamptz"}) {
    const std::string_view all = operands;
    const auto first = all.find(' '), second = all.rfind(' ');
    const std::string left(all.substr(first + 1, second - first - 1));
    const std::string right(all.substr(second + 1));
    client_.ask(
        fmt::format("CREATE OR REPLACE FUNCTION trap.compare({0}, {1}) RETURNS boolean LANGUAGE "
                    "plpgsql AS $$ BEGIN "
                    "PERFORM trap.told('operator'); END $$",
                    left, right));
    client_.ask(
        fmt::format("CREATE OPERATOR trap.{} (FUNCTION = trap.compare, LEFTARG = {}, "
                    "RIGHTARG = {})",
                    all.substr(0, first), left, right));
  }
  client_.ask("SET search_path = trap, pg_catalog");
  EXPECT_NE(client_.refused("SELECT 'a'::text = 'b'::text").message.find("trapped"),
            std::string::npos)
      << "the trap does not spring";
  for (const char* const key : {"k", uuid}) {
    EXPECT_EQ(claimed(client_, key), "new");
    EXPECT_EQ(claimed(client_, key), "duplicate");
    EXPECT_EQ(claimed(client_, key, "another"), "conflict");
  }
  EXPECT_EQ(client_.refused("SELECT semel.done('payments', 'k', 'r')").state, "SM271");
  EXPECT_EQ(begun(client_, "leased").outcome, "new");
  EXPECT_EQ(begun(client_, "leased").outcome, "busy");
  EXPECT_EQ(client_.ask("SELECT key FROM semel.claim_many('payments', ARRAY['m'])"), "m");
  EXPECT_EQ(client_.refused("SELECT semel.publish('payments', 'm')").state, "");
  client_.ask("RESET search_path");
  client_.ask("RESET ROLE");
  EXPECT_EQ(claimed(client_, uuid), "duplicate");
}

TEST_F(FunctionsRights, FunctionsOfOtherTablesAreRefused) {
  sql("UPDATE semel.semel_schema SET version = version + 1");
  const auto refusal = client_.refused("SELECT semel.claim('payments', 'k')");
  EXPECT_EQ(refusal.state, "SM273") << refusal.message;
  EXPECT_NE(refusal.hint.find("semel store migrate --functions"), std::string::npos);
}

TEST_F(FunctionsRights, AMigrationOfTheTablesReplacesTheFunctionsToo) {
  sql(fmt::format("GRANT EXECUTE ON FUNCTION semel.claim(text, text, text) TO {}", role_));
  // As a version before the audit log left them.
  sql("CREATE OR REPLACE FUNCTION semel.functions_version() RETURNS integer LANGUAGE sql AS "
      "'SELECT 0'; DROP TABLE semel.semel_audit; UPDATE semel.semel_schema SET version = 2");
  const auto change = postgres_schema_change(options());
  ASSERT_TRUE(change.has_value());
  EXPECT_NE(change->sql.find("FUNCTION \"semel\".functions_version()"), std::string::npos);
  ASSERT_TRUE(open_postgres(options()).has_value());
  EXPECT_EQ(called(client_, "functions_version()"), newest());
  EXPECT_EQ(client_.ask(fmt::format("SELECT has_function_privilege('{}', "
                                    "'semel.claim(text, text, text)', 'EXECUTE')",
                                    role_)),
            "t")
      << "grants stay";
}

TEST_F(FunctionsRights, AMigrationLeavesTheFunctionsOfAnotherOwner) {
  sql(fmt::format("GRANT CREATE ON DATABASE {0} TO {1}; GRANT ALL ON moved TO {1}", database_,
                  role_));
  become_the_role();
  make_schema(client_.connection(), "theirs");
  client_.ask("RESET ROLE");
  make_functions(client_.connection(), "theirs");
  sql("CREATE OR REPLACE FUNCTION theirs.functions_version() RETURNS integer LANGUAGE sql AS "
      "'SELECT 0'; DROP TABLE theirs.semel_audit; UPDATE theirs.semel_schema SET version = 2");
  become_the_role();
  EXPECT_EQ(client_.ask("SELECT current_user"), role_);
  make_schema(client_.connection(), "theirs");
  EXPECT_EQ(schema_version(client_.connection(), "theirs"), newest_version());
  client_.ask("RESET ROLE");
  EXPECT_EQ(client_.ask("SELECT theirs.functions_version()"), "0");
  sql("DROP SCHEMA theirs CASCADE");
}

TEST_F(FunctionsRights, DroppedFunctionsLeaveTheRecords) {
  EXPECT_EQ(claimed(client_, "k"), "new");
  ASSERT_TRUE(drop_postgres_functions(options()).has_value());
  EXPECT_EQ(functions_in("semel"), "0");
  ASSERT_TRUE(drop_postgres_functions(options()).has_value());
  ASSERT_TRUE(make_postgres_functions(options()).has_value());
  ASSERT_TRUE(make_postgres_functions(options()).has_value());
  EXPECT_EQ(claimed(client_, "k"), "duplicate");
}

TEST_F(FunctionsRights, ASchemaOfAnyPlainNameHasThem) {
  ASSERT_TRUE(make_postgres_functions(options("Other \"schema\"")).has_value());
  EXPECT_EQ(client_.ask(R"(SELECT "Other ""schema""".functions_version())"), newest());
  const auto refusal = client_.refused(R"(SELECT "Other ""schema""".claim('payments', 'k'))");
  EXPECT_EQ(refusal.state, "SM272") << refusal.message;
  const auto refused = make_postgres_functions(options("it's"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R274");
}

}  // namespace
}  // namespace semel::postgres
