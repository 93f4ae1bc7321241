// The PostgreSQL store: records next to the user's own tables, and the caller's own connection as a
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
  // Parameters that are missing come from PGHOST, PGUSER, PGPASSWORD, ~/.pgpass and so on.
  std::string url;
  // The schema of Semel's tables, in the database of the URL.
  std::string schema = "semel";
  // Make schema and tables where they are missing, and bring older ones up to date. False: a
  // database without them is refused with the command that makes them.
  bool create = true;
  // How long a statement waits for another transaction's lock before kBlocked.
  std::chrono::milliseconds busy{5'000};
  // Idle connections that stay open. One more is open for as long as this process claims.
  std::size_t connections = 8;
  // Run a thread that listens for new rows. A process that only reads needs none.
  bool listens = true;
  // A descriptor, such as an eventfd, that becomes readable when the process is to stop, and stays
  // readable: from then on no call waits long for the server. -1: none.
  int stop_fd = -1;
  Environment* environment = nullptr;  // null: system_environment()
};

inline constexpr StoreTraits kPostgresTraits{
    .name = "postgres", .durable = true, .decimals = true, .transactions = true};

// Opens the database. All facets are there. Errors: R250 cannot be reached, R251 login refused,
// R252 no such database, R253 rights missing, R254 no connection left, R203 replica or read-only,
// R205 disk full, R207 tables missing and `create` is off, R210 schema newer than this library,
// R257 a pooler in between gives each transaction another session, R258 server too old, R259 a URL
// that cannot be read.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options);

// Returns what open_postgres would change in the schema, and changes nothing. For people who run
// such SQL themselves: it begins and commits a transaction. Errors: as open_postgres, except R207.
Result<SchemaChange> postgres_schema_change(const PostgresOptions& options);

// Makes the SQL functions by which a consumer in any language claims, in the schema of the tables,
// or brings them up to date (docs/any-language.md). Makes the tables too where they are missing.
// Only their owner may call them until a role is granted EXECUTE; grants stay. Consumers have to be
// attached. Opening the store with `create` brings existing functions up to date together with
// older tables. Errors: as open_postgres, R258 too where the server is older than PostgreSQL 13,
// and R274 for a schema whose name has characters that end a text.
Result<void> make_postgres_functions(const PostgresOptions& options);
// Drops the functions and the grants on them; records stay.
Result<void> drop_postgres_functions(const PostgresOptions& options);
// The SQL that these two would run on tables that are up to date, as a transaction. Contacts no
// server.
Result<std::string> postgres_functions_sql(const PostgresOptions& options);
Result<std::string> postgres_functions_drop_sql(const PostgresOptions& options);

struct PostgresBorrow {
  std::string schema = "semel";
  // Make schema and tables where they are missing, outside of any transaction of the caller: R208
  // where something must be made and a transaction is open.
  bool create_tables = false;
  // Prepare each statement, those of the work too, once per session, under names that begin with
  // semel_, instead of in each call. Only for a connection that keeps its session: behind a pooler
  // that gives each transaction another one it makes calls slower, though not wrong.
  bool prepare_statements = false;
};

// A store over the caller's connection, for Guard: begin sets a savepoint in the caller's open
// transaction, commit releases it, and the caller's COMMIT or ROLLBACK decides about record and
// work together. The connection is borrowed: between two calls it is out of pipeline mode, also
// where it is lost (PQstatus: CONNECTION_BAD), and its settings, the lock timeout among them, stay
// as they are: where that is 0, a call waits without end for another transaction that has one of
// its keys. kRejected (R208) when a call finds no open transaction, or one that has failed, and
// for every call where the connection's encoding is not UTF-8; kUnavailable (R250) where the
// connection is lost, or the server did not answer one of the store's own statements for five
// minutes. libpq sees the latter as open, and in pipeline mode with answers to come: PQreset ends
// that too. A lost connection blocks again after PQreset, whatever it did before. After PQreset
// the store goes on with the new session. A consumer must be attached outside of a transaction, or
// in one that is committed. Only the transactional facet is there. One thread at a time, like the
// connection itself.
Result<std::unique_ptr<Store>> borrow_postgres(pg_conn* connection, PostgresBorrow options = {});

}  // namespace semel
