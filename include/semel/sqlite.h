// The SQLite store: Semel's embedded default, and the caller's own connection as a store.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/schema_change.h>
#include <semel/spi/store.h>

struct sqlite3;

namespace semel {

struct SqliteOptions {
  std::string path;
  // Make the file and Semel's tables where they are missing, and turn a rollback-journal file to
  // WAL. False: a file without them is refused with the command that makes them.
  bool create = true;
  // Completed records a generation takes before a new one is begun.
  std::size_t generation_rows = 1'000'000;
  // How long a statement waits for another program's write lock before kBlocked.
  std::chrono::milliseconds busy{5'000};
  // How many bytes of database pages each connection may cache.
  std::size_t cache_bytes = 32 << 20;
  // Have SQLite enforce the foreign keys of your tables, which it does not do by default: a row
  // whose parent is missing is refused, and ON DELETE acts. False: neither.
  bool foreign_keys = true;
  // Run checkpoints on a thread of the store, off the commit path. A process that only reads needs
  // none.
  bool checkpoints = true;
  // Name of an SQLite VFS; empty: the default. For fault injection.
  std::string vfs{};
  Environment* environment = nullptr;  // null: system_environment()
};

inline constexpr StoreTraits kSqliteTraits{
    .name = "sqlite", .durable = true, .single_writer = true, .transactions = true};

// Opens `path`. All facets are there. Errors: R201 cannot open, R202 not a database or damaged,
// R203 read-only, R204 on a network file system, R205 disk full, R206 locked by another program
// (names its pid where known), R207 tables missing and `create` is off, R209 the file has several
// names (hard links; symbolic links are followed), R210 schema newer than this library.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);

// Returns what open_sqlite would change in the tables. It changes nothing, and does not create a
// missing file. Errors: as open_sqlite, except R207.
Result<SchemaChange> sqlite_schema_change(const SqliteOptions& options);

// Rows that violate a foreign key of their table: they were written while foreign keys were not
// enforced. SQLite leaves them until something touches them.
struct SqliteFlaw {
  std::string text;
  std::string fix;
};

// Reads all rows that have a foreign key, and changes nothing. None where `options.foreign_keys` is
// off, or the file is missing. Errors: as open_sqlite.
Result<std::vector<SqliteFlaw>> sqlite_flaws(const SqliteOptions& options);

struct SqliteBorrow {
  // Make tables where they are missing.
  bool create_tables = false;
};

// A store over the caller's connection, for Guard: begin marks a savepoint in the caller's open
// transaction, commit releases it, and the caller's COMMIT or ROLLBACK decides about record and
// work together. The connection is borrowed: its authorizer, handlers, pragmas and transaction stay
// as they are. kRejected (R208) when a call finds no open transaction. A consumer must be attached
// outside of a transaction, or in one that is committed. Only the transactional facet is there. One
// thread at a time, like the connection itself.
Result<std::unique_ptr<Store>> borrow_sqlite(sqlite3* connection, SqliteBorrow options = {});

}  // namespace semel
