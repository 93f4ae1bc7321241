#include "stores/postgres/pooler.h"

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

using ConnectionPtr = std::unique_ptr<PGconn, decltype(&PQfinish)>;

ResultPtr ask_in_time(PGconn* connection, const Endpoint& place, const std::string& sql) {
  system::Deadline deadline = short_deadline(place);
  ResultPtr result = exchange(connection, sql, deadline);
  if (result == nullptr) sql::fail(unreachable("it did not answer in time"), 1);
  return result;
}

std::string session_of(PGconn* connection, const Endpoint& place) {
  const ResultPtr result = ask_in_time(connection, place, "SELECT pg_backend_pid()");
  if (!went_well(result.get())) throw failure_of(result.get());
  return PQgetvalue(result.get(), 0, 0);
}

[[noreturn]] void refuse() {
  sql::fail({ErrorKind::kRejected, "R257",
             "a pooler before the PostgreSQL server gives each transaction another session: locks "
             "and prepared statements do not last there",
             "connect to the server itself, or let the pooler keep sessions (pool_mode = "
             "session)"});
}

// A pooler that gives each statement another session supports no transaction, and reports that
// itself.
bool can_begin(PGconn* connection, const Endpoint& place) {
  constexpr std::string_view kProtocolViolation = "08P01";
  const ResultPtr result = ask_in_time(connection, place, "BEGIN");
  if (went_well(result.get())) return true;
  if (state_of(result.get()) == kProtocolViolation) return false;
  throw failure_of(result.get());
}

}  // namespace

void need_own_session(PGconn* connection, const Endpoint& place) {
  const std::string session = session_of(connection, place);
  if (session == std::to_string(PQbackendPID(connection))) return;
  // There is a pooler. If it frees a session when its transaction ends, the next one to begin gets
  // this session.
  const ConnectionPtr other(connect(place), &PQfinish);
  if (!can_begin(other.get(), place)) refuse();
  session_of(other.get(), place);
  if (session_of(connection, place) != session) refuse();
}

}  // namespace semel::postgres
