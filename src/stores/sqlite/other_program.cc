#include "stores/sqlite/other_program.h"

#include <sqlite3.h>

#include <memory>

#include "stores/sqlite/failure.h"
#include "stores/sqlite/statement_rows.h"

namespace semel::sqlite {

namespace {

constexpr int kLongestLockWait = 5'000;

using OwnStatement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

}  // namespace

OtherProgram::OtherProgram(const std::string& path) : path_(path) {
  if (sqlite3_open(path_.c_str(), &handle_) != SQLITE_OK) {
    const std::string said = sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    fail({ErrorKind::kUnavailable, "R201", path_ + ": " + said, {}});
  }
  sqlite3_busy_timeout(handle_, kLongestLockWait);
}

OtherProgram::~OtherProgram() { sqlite3_close(handle_); }

void OtherProgram::raise() const {
  fail({ErrorKind::kRejected, {}, path_ + ": " + sqlite3_errmsg(handle_), {}});
}

Rows OtherProgram::run(std::string_view statements) {
  Rows rows;
  while (!statements.empty()) {
    sqlite3_stmt* compiled = nullptr;
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(handle_, statements.data(), static_cast<int>(statements.size()),
                           &compiled, &rest) != SQLITE_OK) {
      raise();
    }
    statements.remove_prefix(static_cast<std::size_t>(rest - statements.data()));
    // White space and comments compile to nothing.
    if (compiled == nullptr) continue;
    const OwnStatement statement(compiled, &sqlite3_finalize);
    rows = {};
    take_columns(compiled, rows);
    int code = SQLITE_OK;
    while ((code = sqlite3_step(compiled)) == SQLITE_ROW) take_row(compiled, rows);
    if (code != SQLITE_DONE) raise();
  }
  return rows;
}

}  // namespace semel::sqlite
