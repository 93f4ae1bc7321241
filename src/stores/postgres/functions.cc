#include "stores/postgres/functions.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <span>
#include <string_view>
#include <utility>

#include <semel/spi/record_machine.h>

#include "stores/postgres/dialect.h"
#include "stores/postgres/functions_sql.h"
#include "stores/postgres/instance_lock.h"
#include "stores/postgres/lease_claims.h"
#include "stores/postgres/record_batch.h"
#include "stores/postgres/schema.h"
#include "stores/sql/function_texts.h"

namespace semel::postgres {
namespace {

// The first version with gen_random_uuid().
constexpr int kOldestWithFunctions = 130'000;

// No schema may come before these in the path, and no plan may scan a table that was small when the
// plan was made.
constexpr std::string_view kSettings =
    "SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off";

// All functions, for dropping them. Only their owner may call them until a right is granted.
constexpr const char* kSignatures[] = {
    "functions_version()",
    "semel_refuse(text, text, text)",
    "semel_converted(text)",
    "semel_utf8(text)",
    "semel_refuse_content(text, text)",
    "semel_content(text, text)",
    "fingerprint(bytea)",
    "fingerprint(text)",
    "semel_key_fault(text)",
    "semel_print_fault(bytea, bytea)",
    "semel_refuse_print(bytea, bytea)",
    "semel_arrived(bytea, bytea)",
    "semel_other_key_id(bigint, text)",
    "semel_key_id(bigint, text)",
    "semel_refuse_moved()",
    "semel_place(text)",
    "semel_number(text)",
    "semel_due_after(interval)",
    "semel_text(bytea)",
    "semel_answer(bytea, bytea)",
    "semel_is_own(xid)",
    "semel_brief_patience(text)",
    "semel_result(bytea)",
    "semel_claim_met(bytea, bytea)",
    "semel_claim_one(bytea, bytea, bigint)",
    "semel_claim_slowly(text, text, bytea)",
    "claim(text, text, bytea, bytea)",
    "claim(text, text, text)",
    "claim_many(text, text[], bytea[], bytea[])",
    "done(text, text, bytea)",
    "done(text, text, text)",
    "semel_nonce()",
    "semel_length(interval)",
    "semel_leased_id(text, text, bytea)",
    "semel_begin_one(bytea, bytea, bigint, bytea, interval, bytea)",
    "semel_drawn(bytea)",
    "begin(text, text, bytea, interval, bytea, bytea)",
    "begin(text, text, text, interval, bytea, bytea)",
    "renew(text, text, bytea, interval)",
    "complete(text, text, bytea, bytea)",
    "complete(text, text, bytea, text)",
    "semel_end(bytea, bytea, text, timestamptz, text, text)",
    "retry(text, text, bytea, interval, text, text)",
    "dead(text, text, bytea, text, text)",
    "release(text, text, bytea)",
    "semel_headers(jsonb)",
    "semel_receiver(text)",
    "publish(text, bytea, text, jsonb, text, text, interval)",
    "publish(text, text, text, jsonb, text, text, interval)",
};

// Functions of earlier versions that a call would match in addition to the new ones.
constexpr const char* kOutdatedSignatures[] = {
    "begin(text, text, bytea, interval, bytea)",
    "begin(text, text, text, interval)",
};

// Keeps grants that would be lost, and grants them again: for the transaction, in a setting that
// any role may make. A function that has another form now passes its grants on, as does one that
// has one more beside it that can do nothing which it cannot. Grants to PUBLIC are lost in all
// functions: a new one is everybody's, so each is taken from PUBLIC.
constexpr std::string_view kKeepGrants = R"sql(
SELECT pg_catalog.set_config('semel.grants', COALESCE((
  SELECT pg_catalog.string_agg(pg_catalog.format('GRANT EXECUTE ON FUNCTION {schema}.%s TO %s%s',
           kept.form, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(r.rolname) END,
           CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '; ')
    FROM (VALUES{same_forms}
      ('begin(text, text, bytea, interval, bytea)',
       'begin(text, text, bytea, interval, bytea, bytea)'),
      ('begin(text, text, text, interval)',
       'begin(text, text, text, interval, bytea, bytea)'),
      ('retry(text, text, bytea, interval, text, text)', 'release(text, text, bytea)'),
      ('fingerprint(bytea)', 'fingerprint(text)')) AS kept(former, form)
    JOIN pg_catalog.pg_proc AS p
      ON p.oid = pg_catalog.to_regprocedure('{schema}.' || kept.former)
    CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) AS a
    LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
    WHERE a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
      AND CASE WHEN kept.former = kept.form THEN a.grantee = 0 AND a.grantor = p.proowner
               ELSE pg_catalog.to_regprocedure('{schema}.' || kept.form) IS NULL END), ''), true);
)sql";
constexpr std::string_view kGrantAgain = R"sql(
DO $semel$
BEGIN
  IF pg_catalog.current_setting('semel.grants', true) <> '' THEN
    EXECUTE pg_catalog.current_setting('semel.grants', true);
  END IF;
END $semel$;
)sql";

std::string drop_sql(const std::string& schema, std::span<const char* const> signatures) {
  std::string sql;
  for (const char* const signature : signatures) {
    sql += fmt::format("DROP FUNCTION IF EXISTS {}.{};\n", quoted_name(schema), signature);
  }
  return sql;
}

// Each function as itself, in the rows of kKeepGrants.
std::string same_forms() {
  std::string rows;
  for (const char* const signature : kSignatures) {
    rows += fmt::format("\n      ('{0}', '{0}'),", signature);
  }
  return rows;
}

std::string interval_of(std::chrono::milliseconds length) {
  return fmt::format("interval '{} milliseconds'", length.count());
}

// The functions' texts contain the name in several kinds of quotes.
void need_plain_name(const std::string& schema) {
  if (schema.find_first_of("'$%{}\\") == std::string::npos) return;
  sql::fail(
      {ErrorKind::kRejected, "R274",
       fmt::format("the schema \"{}\" cannot have SQL functions: its name has characters that "
                   "end a text",
                   schema),
       "use a schema whose name has letters, digits and _"});
}

void in_one_transaction(PGconn* connection, const std::string& schema, const std::string& sql) {
  try {
    execute(connection, "BEGIN");
    lock_schema(connection, schema);
    execute(connection, sql);
    execute(connection, "COMMIT");
  } catch (...) {
    const ResultPtr ended(PQexec(connection, "ROLLBACK"));
    throw;
  }
}

}  // namespace

std::string functions_sql(const std::string& schema, const std::string& clock) {
  need_plain_name(schema);
  const sql::FunctionName names[] = {
      {"{claim}", functions::kClaim},  // contains others
      {"{same_forms}", same_forms()},
      {"{schema}", quoted_name(schema)},
      {"{tables}", std::to_string(newest_version())},
      {"{clock}", clock},
      {"{due}", due(clock)},
      {"{consuming}", std::string(consuming())},
      {"{settings}", std::string(kSettings)},
      {"{channel}", literal(channel_of(schema))},
      {"{patience}", fmt::format("'{}'", Endpoint{}.patience.count())},
      {"{brief_patience}", fmt::format("'{} ms'", kSingleClaimPatience.count())},
      {"{shortest_busy}", interval_of(spi::kShortestBusy)},
      {"{longest_busy}", interval_of(spi::kLongestBusy)},
  };
  std::string text(kKeepGrants);
  text += drop_sql(schema, kOutdatedSignatures);
  for (const char* const file :
       {functions::kShared, functions::kClaims, functions::kLeases, functions::kQueue}) {
    text += file;
  }
  std::string sql = sql::filled_functions(std::move(text), names);
  for (const char* const signature : kSignatures) {
    sql +=
        fmt::format("REVOKE ALL ON FUNCTION {}.{} FROM PUBLIC;\n", quoted_name(schema), signature);
  }
  sql += kGrantAgain;
  return sql;
}

std::string drop_functions_sql(const std::string& schema) {
  return drop_sql(schema, kOutdatedSignatures) + drop_sql(schema, kSignatures);
}

bool may_replace_functions(PGconn* connection, const std::string& schema) {
  const ResultPtr found = execute(
      connection, fmt::format("SELECT 1 FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace "
                              "AS n ON n.oid = p.pronamespace WHERE n.nspname = {} HAVING "
                              "bool_or(p.proname = 'functions_version' AND p.pronargs = 0) AND "
                              "bool_and(pg_catalog.pg_has_role(p.proowner, 'USAGE'))",
                              literal(schema)));
  return PQntuples(found.get()) > 0;
}

void make_functions(PGconn* connection, const std::string& schema, const std::string& clock) {
  need_plain_name(schema);
  if (PQserverVersion(connection) < kOldestWithFunctions) {
    sql::fail({ErrorKind::kRejected, "R258",
               "the PostgreSQL server is too old for SQL functions: they need version 13",
               "use PostgreSQL 13 or newer"});
  }
  make_schema(connection, schema);
  in_one_transaction(connection, schema, functions_sql(schema, clock));
}

void drop_functions(PGconn* connection, const std::string& schema) {
  if (schema_version(connection, schema) == 0) return;
  in_one_transaction(connection, schema, drop_functions_sql(schema));
}

}  // namespace semel::postgres
