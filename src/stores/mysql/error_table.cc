#include "stores/mysql/error_table.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <string>

namespace semel::mysql {
namespace {

// Codes of only one of the two servers, or missing in the client library's header.
constexpr unsigned kDiskFull = 1021;
constexpr unsigned kNoWait = 3572;  // MySQL: NOWAIT
constexpr unsigned kPacketTooBig = 1153;
constexpr unsigned kIdleTransaction = 4031;  // MySQL: disconnected for having been idle
constexpr unsigned kCheckMariaDb = 4025;
constexpr unsigned kCheckMySql = 3819;
constexpr unsigned kReadOnlyMode = 1836;
constexpr unsigned kHookFailed = 3100;      // MySQL: group replication's, before a commit
constexpr unsigned kUndoneInCommit = 3101;  // MySQL: by group replication
constexpr unsigned kRowTooBig = 1118;
constexpr unsigned kKilledQuery = 1317;
constexpr unsigned kStatementTimeoutMariaDb = 1969;
constexpr unsigned kStatementTimeoutMySql = 3024;
constexpr unsigned kPasswordPlugin = 2059;
constexpr unsigned kTls = 2026;
constexpr unsigned kPreparedAnew = 1615;  // inside a stored program
constexpr unsigned kLogsStatements = 1665;

struct Row {
  unsigned code;
  ErrorKind kind;
  const char* page;
  const char* what;
  const char* hint;
  const char* sql_class;
  bool of_the_store;
};

constexpr const char* kNoHint = "";
constexpr const char* kLogin = "check user and password in store.mysql.url";
constexpr const char* kReached = "check host and port in store.mysql.url, and that the server runs";

constexpr Row kRows[] = {
    {ER_LOCK_DEADLOCK, ErrorKind::kRetryTransaction, "R200",
     "undid the transaction for another one's sake", kNoHint, "busy", true},
    {kHookFailed, ErrorKind::kRetryTransaction, "R200",
     "undid the transaction on behalf of its replication group", kNoHint, "busy", true},
    {kUndoneInCommit, ErrorKind::kRetryTransaction, "R200",
     "undid the transaction on behalf of its replication group", kNoHint, "busy", true},
    {ER_LOCK_WAIT_TIMEOUT, ErrorKind::kBlocked, "R206", "has a row locked by another transaction",
     "end the other transaction: information_schema.INNODB_TRX tells whose it is", "busy", true},
    {kNoWait, ErrorKind::kBlocked, "R206", "has a row locked by another transaction", kNoHint,
     "busy", true},
    {ER_CHECKREAD, ErrorKind::kRetryTransaction, "R200", "met a row that changed meanwhile",
     kNoHint, "busy", true},
    {kKilledQuery, ErrorKind::kRetryTransaction, "R200", "was told to end the statement", kNoHint,
     "busy", true},
    {kStatementTimeoutMariaDb, ErrorKind::kRetryTransaction, "R200",
     "ended a statement that took too long", "give it more time: max_statement_time", "busy", true},
    {kStatementTimeoutMySql, ErrorKind::kRetryTransaction, "R200",
     "ended a statement that took too long", "give it more time: max_execution_time", "busy", true},
    {ER_TABLE_DEF_CHANGED, ErrorKind::kRetryTransaction, "R215", "had its tables changed meanwhile",
     kNoHint, "busy", true},
    {kPreparedAnew, ErrorKind::kRetryTransaction, "R215", "had its tables changed meanwhile",
     kNoHint, "busy", true},
    {kLogsStatements, ErrorKind::kRejected, "R269", "logs statements and no rows",
     "SET binlog_format = 'ROW' in this session", "refused", false},
    {ER_ACCESS_DENIED_ERROR, ErrorKind::kUnavailable, "R251", "refused the login", kLogin, "other",
     true},
    {ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ErrorKind::kUnavailable, "R251", "refused the login",
     kLogin, "other", true},
    {ER_HOST_NOT_PRIVILEGED, ErrorKind::kUnavailable, "R251", "refuses this host",
     "let the user come from it: CREATE USER … @'host'", "other", true},
    {ER_HOST_IS_BLOCKED, ErrorKind::kUnavailable, "R251", "blocks this host after many errors",
     "FLUSH HOSTS", "other", true},
    {kPasswordPlugin, ErrorKind::kUnavailable, "R251", "asks for a login that this client has not",
     "change the user's authentication plugin, or connect with tls=on", "other", true},
    {ER_DBACCESS_DENIED_ERROR, ErrorKind::kRejected, "R253",
     "does not give this user the right to the database", "GRANT ALL ON database.* TO user",
     "refused", false},
    {ER_BAD_DB_ERROR, ErrorKind::kUnavailable, "R252", "has no such database",
     "CREATE DATABASE, or name another one in store.mysql.url", "other", false},
    {ER_TABLEACCESS_DENIED_ERROR, ErrorKind::kRejected, "R253", "does not give this user the right",
     "grant it: semel explain rights lists what is needed", "refused", false},
    {ER_COLUMNACCESS_DENIED_ERROR, ErrorKind::kRejected, "R253",
     "does not give this user the right", kNoHint, "refused", false},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, ErrorKind::kRejected, "R253",
     "does not give this user the right", kNoHint, "refused", false},
    {ER_PROCACCESS_DENIED_ERROR, ErrorKind::kRejected, "R253", "does not give this user the right",
     kNoHint, "refused", false},
    {ER_OPTION_PREVENTS_STATEMENT, ErrorKind::kUnavailable, "R203",
     "only reads: it is a replica, or set to read only",
     "name the primary server in store.mysql.url", "other", true},
    {kReadOnlyMode, ErrorKind::kUnavailable, "R203", "only reads: it was started so",
     "name the primary server in store.mysql.url", "other", true},
    {kDiskFull, ErrorKind::kUnavailable, "R205", "has a full disk",
     "free space on the server's disk", "other", true},
    {ER_RECORD_FILE_FULL, ErrorKind::kUnavailable, "R205", "has a full disk, or a full table",
     "free space on the server's disk", "other", true},
    {ER_CON_COUNT_ERROR, ErrorKind::kUnavailable, "R254", "takes no more connections",
     "raise max_connections, or run fewer workers", "other", true},
    {ER_TOO_MANY_USER_CONNECTIONS, ErrorKind::kUnavailable, "R254",
     "takes no more connections of this user", "raise max_user_connections, or run fewer workers",
     "other", true},
    {ER_USER_LIMIT_REACHED, ErrorKind::kUnavailable, "R254", "lets this user do no more for now",
     kNoHint, "other", true},
    {ER_OUT_OF_RESOURCES, ErrorKind::kUnavailable, "R200", "lacks memory", kNoHint, "other", true},
    {ER_OUTOFMEMORY, ErrorKind::kUnavailable, "R200", "lacks memory", kNoHint, "other", true},
    {ER_LOCK_TABLE_FULL, ErrorKind::kUnavailable, "R200", "has no room for more locks",
     "raise innodb_buffer_pool_size", "other", true},
    {ER_SERVER_SHUTDOWN, ErrorKind::kUnavailable, "R250", "is being stopped",
     "start it, or wait: messages stay where they are until it answers", "other", true},
    {kIdleTransaction, ErrorKind::kUnavailable, "R250", "ended a connection that stood idle",
     kNoHint, "other", true},
    {ER_CRASHED_ON_USAGE, ErrorKind::kUnavailable, "R202", "found its data damaged",
     "look into the server's log", "other", true},
    {ER_ERROR_ON_READ, ErrorKind::kUnavailable, "R201", "cannot read its files",
     "look into the server's log", "other", true},
    {ER_ERROR_ON_WRITE, ErrorKind::kUnavailable, "R201", "cannot write its files",
     "look into the server's log", "other", true},
    {kPacketTooBig, ErrorKind::kLimit, "R200", "takes no statement this big",
     "raise max_allowed_packet on the server", "other", false},
    {kRowTooBig, ErrorKind::kLimit, "R200", "takes no row this big", kNoHint, "constraint", false},
    {ER_DATA_TOO_LONG, ErrorKind::kLimit, "R200", "takes no value this long there", kNoHint,
     "constraint", false},
    {kCheckMariaDb, ErrorKind::kRejected, "R200", "refused a row", kNoHint, "constraint", false},
    {kCheckMySql, ErrorKind::kRejected, "R200", "refused a row", kNoHint, "constraint", false},
    {kReadOnlyTransaction, ErrorKind::kRejected, "R200",
     "was to write where only looks are allowed", kNoHint, "refused", false},
    {kTls, ErrorKind::kUnavailable, "R250", "and this client cannot agree on TLS",
     "check tls and tls-ca in store.mysql.url", "other", true},
    {CR_SERVER_GONE_ERROR, ErrorKind::kUnavailable, "R250", "cannot be reached", kReached, "other",
     true},
    {CR_SERVER_LOST, ErrorKind::kUnavailable, "R250", "cannot be reached", kReached, "other", true},
    {CR_SERVER_LOST_EXTENDED, ErrorKind::kUnavailable, "R250", "cannot be reached", kReached,
     "other", true},
    {CR_OUT_OF_MEMORY, ErrorKind::kUnavailable, "R200", "said more than this process can hold",
     kNoHint, "other", true},
};

constexpr Row kUnreachable = {
    0, ErrorKind::kUnavailable, "R250", "cannot be reached", kReached, "other", true};
constexpr Row kUndone = {0,       ErrorKind::kRetryTransaction,
                         "R200",  "undid the transaction for another one's sake",
                         kNoHint, "busy",
                         true};
constexpr Row kRow = {0,       ErrorKind::kRejected, "R200", "refused a row",
                      kNoHint, "constraint",         false};
constexpr Row kSyntax = {
    0, ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "syntax", false};
constexpr Row kUnknown = {
    0, ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "other", false};

const Row& row_of(unsigned code, std::string_view state) noexcept {
  const auto found = std::ranges::find(kRows, code, &Row::code);
  if (found != std::end(kRows)) return *found;
  if (is_lost(code)) return kUnreachable;
  if (state.starts_with("23") || state.starts_with("22")) return kRow;
  if (state.starts_with("08")) return kUnreachable;
  if (state.starts_with("40")) return kUndone;
  // Errors without a state of their own are HY000: among them values that do not fit.
  constexpr unsigned kValues[] = {ER_NO_DEFAULT_FOR_FIELD, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
                                  WARN_DATA_TRUNCATED, ER_TRUNCATED_WRONG_VALUE};
  if (std::ranges::find(kValues, code) != std::end(kValues)) return kRow;
  return state.starts_with("42") ? kSyntax : kUnknown;
}

std::string one_line(std::string_view said) {
  std::string line(said);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace

Error error_of(const Refusal& refusal) {
  const Row& row = row_of(refusal.code, refusal.state);
  return {
      row.kind, row.page,
      fmt::format("the MySQL server {} ({} {})", row.what, refusal.code, one_line(refusal.said)),
      row.hint};
}

bool is_lost(unsigned code) noexcept {
  return (code >= CR_MIN_ERROR && code <= CR_MAX_ERROR) ||
         (code >= CR_ERR_NET_READ && code <= CR_ERR_BINLOG_UNCOMPRESS) ||
         code == ER_SERVER_SHUTDOWN || code == kIdleTransaction || code == ER_CONNECTION_KILLED;
}

bool only_reads(unsigned code) noexcept {
  return code == ER_OPTION_PREVENTS_STATEMENT || code == kReadOnlyMode;
}

// Group replication sends a transaction to the group first, and then waits for its verdict. A
// server that leaves the group, or fails, while it waits undoes the transaction with these errors.
bool may_be_replicated(unsigned code) noexcept {
  return code == kHookFailed || code == kUndoneInCommit;
}

std::string_view sql_class_of(const Refusal& refusal) noexcept {
  return row_of(refusal.code, refusal.state).sql_class;
}

Remedy remedy_of(unsigned code) noexcept {
  constexpr unsigned kInvalidJson = 3140;  // MySQL
  constexpr unsigned kValues[] = {ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
                                  ER_TRUNCATED_WRONG_VALUE,
                                  WARN_DATA_TRUNCATED,
                                  ER_DATA_TOO_LONG,
                                  ER_BAD_NULL_ERROR,
                                  ER_NO_DEFAULT_FOR_FIELD,
                                  ER_INVALID_CHARACTER_STRING,
                                  kInvalidJson};
  constexpr unsigned kStatements[] = {ER_BAD_FIELD_ERROR,
                                      ER_NO_SUCH_TABLE,
                                      ER_BAD_DB_ERROR,
                                      ER_PARSE_ERROR,
                                      ER_SP_DOES_NOT_EXIST,
                                      ER_NON_UNIQ_ERROR,
                                      ER_WRONG_VALUE_COUNT_ON_ROW,
                                      ER_DBACCESS_DENIED_ERROR,
                                      ER_TABLEACCESS_DENIED_ERROR,
                                      ER_COLUMNACCESS_DENIED_ERROR,
                                      ER_SPECIFIC_ACCESS_DENIED_ERROR,
                                      ER_PROCACCESS_DENIED_ERROR};
  if (std::ranges::find(kValues, code) != std::end(kValues)) return Remedy::kMessage;
  const bool statement = std::ranges::find(kStatements, code) != std::end(kStatements);
  return statement ? Remedy::kStatement : Remedy::kTime;
}

bool is_store_failure(const Refusal& refusal) noexcept {
  return row_of(refusal.code, refusal.state).of_the_store;
}

}  // namespace semel::mysql
