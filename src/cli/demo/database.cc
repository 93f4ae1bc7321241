#include "cli/demo/database.h"

#include <sqlite3.h>

#include <semel/error.h>

namespace semel::cli::demo {

namespace {

constexpr int kPatienceMs = 30'000;

[[noreturn]] void throw_ledger_error(sqlite3* connection, const std::string& what) {
  throw SemelError({ErrorKind::kUnavailable,
                    {},
                    "the demo's ledger: " + what + ": " + sqlite3_errmsg(connection),
                    {}});
}

}  // namespace

Database::Database(const std::string& path) {
  const int opened = sqlite3_open_v2(path.c_str(), &connection_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (opened != SQLITE_OK) {
    const std::string why = sqlite3_errstr(opened);
    sqlite3_close(connection_);
    throw SemelError({ErrorKind::kUnavailable, {}, "cannot make " + path + ": " + why, {}});
  }
  sqlite3_busy_timeout(connection_, kPatienceMs);
}

Database::~Database() { sqlite3_close(connection_); }

void Database::run(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw_ledger_error(connection_, sql);
  }
}

std::int64_t Database::number(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    throw_ledger_error(connection_, sql);
  }
  const bool row = sqlite3_step(statement) == SQLITE_ROW;
  const std::int64_t number = row ? sqlite3_column_int64(statement, 0) : 0;
  if (sqlite3_finalize(statement) != SQLITE_OK || !row) throw_ledger_error(connection_, sql);
  return number;
}

WriteLock::WriteLock(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }

WriteLock::~WriteLock() {
  try {
    database_.run("ROLLBACK");
  } catch (const SemelError&) {
    // Without a transaction, there is no lock to release.
  }
}

}  // namespace semel::cli::demo
