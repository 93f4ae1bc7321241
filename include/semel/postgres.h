// The PostgreSQL store: records beside the user's own tables, and the caller's own connection as a
// store.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/schema_change.h>
#include <semel/spi/store.h>

struct pg_conn;  // PGconn

namespace semel {

struct PostgresOptions {
  // As libpq takes it: postgresql://user@host/database?sslmode=verify-full, or key=value pairs.
  // What it does not say comes from PGHOST, PGUSER, PGPASSWORD, ~/.pgpass and so on.
  std::string url;
  // Of Semel's tables, in the database of the URL.
  std::string schema = "semel";
  // Make schema and tables where they are missing, and bring older ones up to date. False: a
  // database without them is refused with the command that makes them.
  bool create = true;
  // How long a statement waits for another transaction's lock before kBlocked.
  std::chrono::milliseconds busy{5'000};
  // Idle connections that stay open. One more is open for as long as this process claims.
  std::size_t connections = 8;
  // A process that only looks needs no thread that listens for new rows.
  bool listens = true;
  // A descriptor that becomes readable when the process is to stop, and stays so, as an eventfd
  // does: from then on nothing waits long for the server. -1: none.
  int stop_fd = -1;
  Environment* environment = nullptr;  // null: system_environment()
};

inline constexpr StoreTraits kPostgresTraits{
    .name = "postgres", .durable = true, .decimals = true, .transactions = true};

// Opens the database. All facets are there. Errors: R250 cannot be reached, R251 login refused,
// R252 no such database, R253 rights missing, R254 no connection left, R203 replica or read-only,
// R205 disk full, R207 tables missing and `create` is off, R210 schema newer than this library,
// R257 a pooler stands between that gives each transaction another session, R258 server too old,
// R259 a URL that cannot be read.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options);

// Tells what open_postgres would do to the schema, and only looks. For those who run such SQL
// themselves.
// Errors: as there, but for R207.
Result<SchemaChange> postgres_schema_change(const PostgresOptions& options);

// Makes the SQL functions by which a consumer in any language claims, in the schema of the tables,
// or brings them up to date (docs/any-language.md). Makes the tables too where they are missing.
// Nobody but their owner may call them until a role is granted EXECUTE; grants stay. Consumers have
// to be attached. Opening the store with `create` brings functions that are there up to date
// together with older tables. Errors: as open_postgres, R258 too where the server is older than
// PostgreSQL 13, and R274 for a schema whose name has characters that end a text.
Result<void> make_postgres_functions(const PostgresOptions& options);
// Takes them away, and the grants on them; records stay.
Result<void> drop_postgres_functions(const PostgresOptions& options);
// The SQL that the two would run on tables that are up to date; no server is asked.
Result<std::string> postgres_functions_sql(const PostgresOptions& options);
Result<std::string> postgres_functions_drop_sql(const PostgresOptions& options);

struct PostgresBorrow {
  std::string schema = "semel";
  // Make schema and tables where they are missing, outside of a transaction of the caller's: R208
  // where something is to be made and one is open.
  bool create_tables = false;
  // Statements, those of the work too, are prepared once on the session, under names that begin
  // with semel_, and not anew in each call. For a connection that keeps its session: behind a
  // pooler that gives each transaction another one leave it off. If it is on there, calls are
  // slower, and right all the same.
  bool prepare_statements = false;
};

// A store over the caller's connection, for Guard: begin sets a mark (savepoint) in the caller's
// open transaction, commit releases it, and the caller's COMMIT or ROLLBACK decides about record
// and work together. The connection is borrowed: between two calls it is out of pipeline mode, and
// its settings, how long it waits for locks among them, stay as they are. kRejected (R208) when a
// call finds no open transaction, or one that has failed; at once where the connection does not
// speak UTF-8. A consumer must be attached outside of a transaction, or in one that is committed.
// Only the transactional facet is there. One thread at a time, like the connection itself.
Result<std::unique_ptr<Store>> borrow_postgres(pg_conn* connection, PostgresBorrow options = {});

}  // namespace semel
