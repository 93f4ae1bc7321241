#include "stores/sqlite/error_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace semel::sqlite {
namespace {

struct Row {
  int code;  // extended, or the primary one for all without a row of their own
  ErrorKind kind;
  const char* page;
  const char* what;
  const char* hint;
  const char* sql_class;
  bool of_the_store;
};

constexpr const char* kNoHint = "";
constexpr const char* kMend =
    "restore it from a backup, or save what can be read: sqlite3 FILE \".recover\"";
constexpr const char* kOtherProgram = "end the other program's transaction, or give it more time";

// The first row that fits is used.
constexpr Row kRows[] = {
    {SQLITE_BUSY_SNAPSHOT, ErrorKind::kRetryTransaction, "R206",
     "changed by another program since this transaction began to read", kNoHint, "busy", true},
    {SQLITE_BUSY, ErrorKind::kBlocked, "R206", "locked by another program", kOtherProgram, "busy",
     true},
    {SQLITE_LOCKED, ErrorKind::kRetryTransaction, "R206", "locked by another connection",
     kOtherProgram, "busy", true},
    {SQLITE_PROTOCOL, ErrorKind::kBlocked, "R206", "locked by another program", kOtherProgram,
     "busy", true},
    {SQLITE_FULL, ErrorKind::kUnavailable, "R205", "the disk is full", "free space on its disk",
     "other", true},
    {SQLITE_IOERR_NOMEM, ErrorKind::kUnavailable, "R200", "out of memory", kNoHint, "other", true},
    {SQLITE_IOERR_SHMSIZE, ErrorKind::kUnavailable, "R205", "the disk is full",
     "free space on its disk", "other", true},
    {SQLITE_IOERR, ErrorKind::kUnavailable, "R201", "cannot be read or written",
     "look for errors of its disk in the system's log", "other", true},
    {SQLITE_READONLY_DBMOVED, ErrorKind::kUnavailable, "R201",
     "was moved or deleted while it was open", "put it back, then start again", "other", true},
    {SQLITE_READONLY, ErrorKind::kUnavailable, "R203", "is read-only",
     "let this user write the file and its directory", "other", true},
    {SQLITE_PERM, ErrorKind::kUnavailable, "R203", "may not be opened by this user",
     "let this user write the file and its directory", "other", true},
    {SQLITE_CANTOPEN, ErrorKind::kUnavailable, "R201", "cannot be opened",
     "check that its directory exists and that this user may write it", "other", true},
    {SQLITE_NOTADB, ErrorKind::kRejected, "R213", "is not an SQLite database",
     "name another file as store.sqlite.path", "other", true},
    {SQLITE_CORRUPT, ErrorKind::kUnavailable, "R202", "is damaged", kMend, "other", true},
    {SQLITE_NOMEM, ErrorKind::kUnavailable, "R200", "out of memory", kNoHint, "other", true},
    {SQLITE_INTERRUPT, ErrorKind::kUnavailable, "R200", "was interrupted", kNoHint, "other", true},
    {SQLITE_SCHEMA, ErrorKind::kRetryTransaction, "R200", "had its tables changed meanwhile",
     kNoHint, "busy", true},
    {SQLITE_TOOBIG, ErrorKind::kLimit, "R200", "takes no value this big", kNoHint, "other", false},
    {SQLITE_CONSTRAINT, ErrorKind::kRejected, "R200", "refused a row", kNoHint, "constraint",
     false},
    {SQLITE_AUTH, ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "refused", false},
    {SQLITE_ERROR, ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "syntax", false},
};
constexpr Row kUnknown = {
    0, ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "other", false};

constexpr int kPrimaryMask = 0xff;

const Row& row_of(int extended) noexcept {
  for (const Row& row : kRows) {
    if (row.code == extended || row.code == (extended & kPrimaryMask)) return row;
  }
  return kUnknown;
}

}  // namespace

Error error_of(int extended, std::string_view path, std::string_view said) {
  const Row& row = row_of(extended);
  return {row.kind, row.page, fmt::format("{} {} ({})", path, row.what, said), row.hint};
}

std::string_view sql_class_of(int extended) noexcept { return row_of(extended).sql_class; }

Remedy remedy_of(int extended, Met met) noexcept {
  switch (extended) {
    case SQLITE_CONSTRAINT_NOTNULL:
    case SQLITE_CONSTRAINT_DATATYPE:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return Remedy::kMessage;
    case SQLITE_ERROR:
    case SQLITE_AUTH:
      // A missing table or column is found while compiling.
      return met == Met::kCompiling ? Remedy::kStatement : Remedy::kTime;
    default:
      return Remedy::kTime;
  }
}

bool is_store_failure(int extended) noexcept { return row_of(extended).of_the_store; }

}  // namespace semel::sqlite
