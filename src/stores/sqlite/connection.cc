#include "stores/sqlite/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <strings.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "stores/sqlite/error_table.h"
#include "system/descriptor_limit.h"

namespace semel::sqlite {
namespace {

constexpr const char* kOurTables = "semel_";

bool ours(const char* table) noexcept {
  return table != nullptr && ::strncasecmp(table, kOurTables, std::strlen(kOurTables)) == 0;
}

// The log shrinks again after a time in which it grew large.
constexpr const char* kSettings[] = {
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 134217728",
    // Overwriting with zeroes, which a distribution may enable, would rewrite a dropped generation.
    "PRAGMA secure_delete = FAST",
};

}  // namespace

Connection::Connection(const ConnectionOptions& options) : path_(options.path) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
              SQLITE_OPEN_EXRESCODE;
  if (options.make) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags,
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (code != SQLITE_OK) {
    Failure failed = handle_ != nullptr
                         ? failure_now(code)
                         : Failure(error_of(code, path_, sqlite3_errstr(code)), code);
    sqlite3_close(handle_);
    handle_ = nullptr;
    throw Failure(failed);
  }
  set_patience(options.patience);
  try {
    configure(options);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Connection::Connection(sqlite3* borrowed) : handle_(borrowed), borrowed_(true) {
  const char* const name = sqlite3_db_filename(borrowed, "main");
  path_ = name != nullptr && *name != '\0' ? name : "the borrowed database";
}

Connection::~Connection() {
  shared_.clear();
  // A statement of ours that is still alive is a bug of ours; the caller's connection stays open.
  if (!borrowed_) sqlite3_close_v2(handle_);
}

void Connection::configure(const ConnectionOptions& options) {
  sqlite3_busy_handler(handle_, &Connection::on_busy, this);
  sqlite3_set_authorizer(handle_, &Connection::authorize, this);
  for (const char* setting : kSettings) execute(setting);
  // Negative: in KiB of memory.
  execute(fmt::format("PRAGMA cache_size = -{}", options.cache_bytes / 1024).c_str());
  if (!options.own_checkpoints) execute("PRAGMA wal_autocheckpoint = 0");
  execute("PRAGMA synchronous = FULL");
  // Set in both cases: SQLite may be built with another default.
  execute(options.foreign_keys ? "PRAGMA foreign_keys = ON" : "PRAGMA foreign_keys = OFF");
  if (options.only_look) execute("PRAGMA query_only = ON");
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) raise(code);
  return statement;
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(code);
}

std::string Connection::ask(const char* sql) {
  sqlite3_stmt* const statement = prepare(sql);
  const int code = sqlite3_step(statement);
  std::string answer;
  if (code == SQLITE_ROW) {
    const auto* const text = sqlite3_column_text(statement, 0);
    if (text != nullptr) answer = reinterpret_cast<const char*>(text);
  }
  const Failure failed = failure_now(code);
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw Failure(failed);
  return answer;
}

void Connection::roll_back() noexcept {
  if (in_transaction()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Prepared& Connection::ready(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  Prepared& statement = shared_.try_emplace(&text, *this, text.sql().c_str()).first->second;
  int at = 0;
  for (const sql::Param& param : params) statement.bind_param(++at, param);
  return statement;
}

sql::Answer Connection::ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  Prepared& statement = ready(text, params);
  std::vector<sql::Cell> cells;
  std::size_t rows = 0;
  const Reading reading(statement);
  for (; statement.next(); ++rows) {
    for (int column = 0; column < statement.columns(); ++column) {
      cells.push_back(statement.cell(column));
    }
  }
  const auto columns = static_cast<std::size_t>(statement.columns());
  return {std::move(cells), columns, columns > 0 ? rows : static_cast<std::size_t>(changes())};
}

void Connection::queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) {
  ready(text, params).run();
}

std::int64_t Connection::changes() const noexcept { return sqlite3_changes64(handle_); }

std::int64_t Connection::last_row() const noexcept { return sqlite3_last_insert_rowid(handle_); }

bool Connection::in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

bool Connection::read_only() const noexcept { return sqlite3_db_readonly(handle_, "main") == 1; }

bool Connection::misses_parents() const noexcept {
  int now = 0;
  int highest = 0;
  sqlite3_db_status(handle_, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &highest, 0);
  return now != 0;
}

void Connection::set_sync(Sync sync) {
  if (sync == sync_) return;
  execute(sync == Sync::kPowerLoss ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  sync_ = sync;
}

Failure Connection::failure_now(int code) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR) {
    if (auto none = system::descriptor_limit_now(path_)) return {*std::move(none), code};
  }
  const int extended = sqlite3_extended_errcode(handle_);
  // After a call that failed before it reached the connection, only the code is right.
  const bool fits = (extended & 0xff) == primary;
  const char* const said = fits ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  return {error_of(fits ? extended : code, path_, said), fits ? extended : code};
}

int Connection::on_busy(void* self, int calls) noexcept {
  auto& patience = static_cast<Connection*>(self)->patience_;
  if (calls == 0) patience.fresh();
  return patience.wait() ? 1 : 0;
}

int Connection::authorize(void* self, int action, const char* first, const char* /*second*/,
                          const char* /*database*/, const char* /*trigger*/) noexcept {
  if (!static_cast<const Connection*>(self)->handler_) return SQLITE_OK;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
      return ours(first) ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace semel::sqlite
