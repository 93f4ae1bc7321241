#include "stores/postgres/schema.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <semel/version.h>

#include <charconv>

#include "stores/postgres/dialect.h"
#include "stores/postgres/error_table.h"
#include "stores/postgres/functions.h"
#include "stores/postgres/schema_sql.h"

namespace semel::postgres {
namespace {

// The first column of the first row; empty where there is none.
std::string ask(PGconn* connection, const std::string& sql) {
  const ResultPtr result = execute(connection, sql);
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

[[noreturn]] void tell_right(const sql::Failure& failed, const std::string& schema) {
  Error error = failed.error();
  if (error.code != "R253") throw failed;
  error.hint = fmt::format(
      "grant it: GRANT CREATE ON DATABASE … TO …, or let an owner run `semel store init`, then "
      "GRANT USAGE ON SCHEMA {} and the tables in it",
      schema);
  sql::fail(std::move(error), failed.code());
}

}  // namespace

int schema_version(PGconn* connection, const std::string& schema) {
  const std::string table = quoted_name(schema) + ".semel_schema";
  // Asked of the catalog: to_regclass() answers from what this session remembers, and in a
  // transaction that waited for another it goes on remembering that there was nothing.
  const std::string there = ask(
      connection, fmt::format("SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace "
                              "AS n ON n.oid = c.relnamespace WHERE n.nspname = {} AND c.relname = "
                              "'semel_schema'",
                              literal(schema)));
  if (there.empty()) return 0;
  const std::string text = ask(connection, fmt::format("SELECT max(version) FROM {}", table));
  int version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

int newest_version() noexcept { return kSchemaVersion; }

void refuse_newer(int version, const std::string& schema) {
  if (version <= kSchemaVersion) return;
  sql::fail({ErrorKind::kRejected, "R210",
             fmt::format("the schema \"{}\" has tables of version {}; this library knows version "
                         "{} and older",
                         schema, version, kSchemaVersion),
             "use the newer Semel that made them"});
}

std::string migration_sql(int version, const std::string& schema) {
  std::string sql;
  if (version == 0) sql = fmt::format("CREATE SCHEMA IF NOT EXISTS {};\n", quoted_name(schema));
  for (int next = version; next < kSchemaVersion; ++next) {
    std::string step = kMigrations[next];
    replace_all(step, "{schema}", quoted_name(schema));
    sql += step;
  }
  if (sql.empty()) return sql;
  sql += fmt::format(
      "DELETE FROM {0}.semel_schema;\nINSERT INTO {0}.semel_schema VALUES ({1}, "
      "clock_timestamp(), {2});\n",
      quoted_name(schema), kSchemaVersion, literal(fmt::format("semel {}", ::semel::version())));
  return sql;
}

void lock_schema(PGconn* connection, const std::string& schema) {
  execute(connection, fmt::format("SELECT pg_advisory_xact_lock(hashtextextended({}, 0))",
                                  literal("semel.migrate." + schema)));
}

void make_schema(PGconn* connection, const std::string& schema) {
  const int found = schema_version(connection, schema);
  refuse_newer(found, schema);
  if (found == kSchemaVersion) return;
  // BEGIN would be no more than a warning there, and COMMIT or ROLLBACK would end it.
  if (PQtransactionStatus(connection) != PQTRANS_IDLE) {
    sql::fail({ErrorKind::kRejected, "R208",
               "a transaction is open on the connection: tables are made in one of their own",
               "commit it first"});
  }
  try {
    execute(connection, "BEGIN");
    // A second process waits here, and finds the work done.
    lock_schema(connection, schema);
    const int version = schema_version(connection, schema);
    if (version < kSchemaVersion) {
      execute(connection, migration_sql(version, schema));
      // Functions of another owner stay as they are, and refuse tables of another version.
      if (may_replace_functions(connection, schema)) execute(connection, functions_sql(schema));
    }
    execute(connection, "COMMIT");
  } catch (const sql::Failure& failed) {
    const ResultPtr ended(PQexec(connection, "ROLLBACK"));
    tell_right(failed, schema);
  }
}

void need_schema(PGconn* connection, const std::string& schema, std::string_view make) {
  const int version = schema_version(connection, schema);
  refuse_newer(version, schema);
  if (version == kSchemaVersion) return;
  sql::fail(
      {ErrorKind::kRejected, "R207",
       version == 0
           ? fmt::format("the database has no schema \"{}\" with tables of Semel", schema)
           : fmt::format("the schema \"{}\" has tables of an older version, {}", schema, version),
       version == 0 ? fmt::format("make them: {}", make)
                    : "bring them up to date: semel store migrate"});
}

}  // namespace semel::postgres
