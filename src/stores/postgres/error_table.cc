#include "stores/postgres/error_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace semel::postgres {
namespace {

struct Row {
  std::string_view state;  // a whole SQLSTATE, or its class: the first two characters
  ErrorKind kind;
  const char* page;
  const char* what;
  const char* hint;
  const char* sql_class;
  bool of_the_store;
};

constexpr const char* kNoHint = "";
constexpr const char* kReached =
    "check host and port in store.postgres.url, and that the server runs";
constexpr const char* kResource = "look into the server's log, and at its memory and limits";

// The first row that fits is used. SQLSTATEs: PostgreSQL 15, appendix A.
constexpr Row kRows[] = {
    {"40", ErrorKind::kRetryTransaction, "R200", "undid the transaction for another one's sake",
     kNoHint, "busy", true},
    {"55P03", ErrorKind::kBlocked, "R206", "has a row locked by another transaction",
     "end the other transaction: SELECT * FROM pg_stat_activity tells whose it is", "busy", true},
    {"55006", ErrorKind::kBlocked, "R206", "has the object in use",
     "wait, or end the other session: SELECT * FROM pg_stat_activity tells whose it is", "busy",
     true},
    {"57014", ErrorKind::kRetryTransaction, "R200", "ended a statement that took too long",
     "give it more time: statement_timeout", "busy", true},
    {"57P", ErrorKind::kUnavailable, "R250", "is being stopped, or not ready yet",
     "start it, or wait: messages stay where they are until it answers", "other", true},
    {"08", ErrorKind::kUnavailable, "R250", "cannot be reached", kReached, "other", false},
    {kReadOnly, ErrorKind::kUnavailable, "R203", "only reads: it is a replica, or set to read only",
     "name the primary server in store.postgres.url; on your own connection, say BEGIN READ WRITE",
     "other", true},
    {"25P01", ErrorKind::kRejected, "R200", "has no open transaction on the connection",
     "begin one before the claim; autocommit must be off", "other", false},
    {"25P02", ErrorKind::kRejected, "R200", "refuses all statements until the transaction ends",
     "an earlier statement of it failed: look at that one's error, roll back and begin again",
     "other", false},
    {"25P03", ErrorKind::kRetryTransaction, "R200", "ended a transaction that stood idle", kNoHint,
     "busy", true},
    {"28", ErrorKind::kUnavailable, "R251", "refused the login",
     "check user and password in store.postgres.url, and the server's pg_hba.conf", "other", false},
    {"3D", ErrorKind::kUnavailable, "R252", "has no such database",
     "make it (createdb), or name another one in store.postgres.url", "other", false},
    {"42501", ErrorKind::kRejected, "R253", "does not give this user the right",
     "grant it: semel explain rights lists what is needed", "refused", false},
    {"53100", ErrorKind::kUnavailable, "R205", "has a full disk", "free space on the server's disk",
     "other", true},
    {"53300", ErrorKind::kUnavailable, "R254", "takes no more connections",
     "raise max_connections, or run fewer workers", "other", false},
    {"53200", ErrorKind::kUnavailable, "R200", "lacks memory", kResource, "other", true},
    {"53", ErrorKind::kUnavailable, "R200", "lacks a resource", kResource, "other", false},
    {"58030", ErrorKind::kUnavailable, "R201", "cannot read or write its files",
     "look into the server's log", "other", true},
    {"58", ErrorKind::kUnavailable, "R200", "met an error of its system",
     "look into the server's log", "other", false},
    {"XX001", ErrorKind::kUnavailable, "R202", "found its data damaged",
     "look into the server's log", "other", true},
    {"XX002", ErrorKind::kUnavailable, "R202", "found an index damaged",
     "look into the server's log", "other", true},
    {"XX", ErrorKind::kUnavailable, "R200", "met an error inside it", "look into the server's log",
     "other", false},
    {"26000", ErrorKind::kRetryTransaction, "R257",
     "does not know a statement that was prepared: something stands between",
     "connect to the server itself, or let the pooler keep sessions (pool_mode = session)", "busy",
     true},
    {"0A000", ErrorKind::kRetryTransaction, "R200", "had its tables changed meanwhile", kNoHint,
     "syntax", false},
    {"54", ErrorKind::kLimit, "R200", "takes no value or statement this big", kNoHint, "other",
     false},
    {"23", ErrorKind::kRejected, "R200", "refused a row", kNoHint, "constraint", false},
    {"22", ErrorKind::kRejected, "R200", "refused a value", kNoHint, "constraint", false},
    {"42", ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "syntax", false},
    {"2D", ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "refused", false},
};
constexpr Row kUnknown = {
    "", ErrorKind::kRejected, "R200", "refused a statement", kNoHint, "other", false};

const Row& row_of(std::string_view sqlstate) noexcept {
  for (const Row& row : kRows) {
    if (sqlstate.starts_with(row.state)) return row;
  }
  return kUnknown;
}

std::string one_line(std::string_view said) {
  std::string line(said.substr(0, said.find_last_not_of('\n') + 1));
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return line;
}

}  // namespace

int code_of(std::string_view sqlstate) noexcept {
  int code = 0;
  for (const char c : sqlstate) {
    constexpr int kDigits = 36;
    const int digit = c >= 'A' ? c - 'A' + 10 : c - '0';
    code = code * kDigits + digit;
  }
  return code;
}

Error error_of(std::string_view sqlstate, std::string_view said) {
  const Row& row = row_of(sqlstate);
  return {row.kind, row.page,
          fmt::format("the PostgreSQL server {} ({} {})", row.what, sqlstate, one_line(said)),
          row.hint};
}

Error unreachable(std::string_view said) {
  return {ErrorKind::kUnavailable, "R250",
          fmt::format("the PostgreSQL server cannot be reached ({})", one_line(said)), kReached};
}

Error borrowed_lost(std::string_view said) {
  const std::string why = one_line(said);
  return {ErrorKind::kUnavailable, "R250",
          fmt::format("the borrowed connection to the PostgreSQL server is lost{}",
                      why.empty() ? "" : " (" + why + ")"),
          "PQreset it, or borrow another one; then begin the transaction again"};
}

Error not_open(std::string_view said) {
  const std::string why = one_line(said);
  return {ErrorKind::kRejected, "R208",
          "no open connection was given" + (why.empty() ? why : ": " + why),
          "open it first, and look at PQstatus"};
}

bool may_be_outdated(std::string_view sqlstate) noexcept {
  // A cached plan whose result type would change; a missing prepared statement; a missing type; and
  // every error of a value or a type: the parameters have the types that the columns had before.
  constexpr std::string_view kStates[] = {"0A000", "26000", "XX000", "22", "42"};
  if (sqlstate == kForbidden) return false;
  return std::ranges::any_of(kStates,
                             [&](std::string_view one) { return sqlstate.starts_with(one); });
}

bool is_refused_name(std::string_view sqlstate) noexcept {
  return sqlstate == "26000" || sqlstate == "42P05";
}

std::string_view sql_class_of(std::string_view sqlstate) noexcept {
  return row_of(sqlstate).sql_class;
}

Remedy remedy_of(std::string_view sqlstate) noexcept {
  // Values that are invalid for any state of the tables: texts that are no numbers, dates or JSON,
  // are too long or wrongly encoded, and a NULL where none is allowed.
  constexpr std::string_view kValues[] = {"22P02", "22P03", "22P05", "22001", "22007", "22008",
                                          "22018", "22021", "22030", "22032", "23502"};
  // A missing column, table, function, type or schema, a syntax error, a missing right.
  constexpr std::string_view kStatements[] = {"42703", "42P01", "42883", "42804", "42704", "42601",
                                              "42846", "42P18", "42702", "42725", "42501", "3F000"};
  if (std::ranges::find(kValues, sqlstate) != std::end(kValues)) return Remedy::kMessage;
  const bool statement = std::ranges::find(kStatements, sqlstate) != std::end(kStatements);
  return statement ? Remedy::kStatement : Remedy::kTime;
}

bool is_store_failure(std::string_view sqlstate) noexcept { return row_of(sqlstate).of_the_store; }

}  // namespace semel::postgres
