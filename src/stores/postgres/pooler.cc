#include "stores/postgres/pooler.h"

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

using ConnectionPtr = std::unique_ptr<PGconn, decltype(&PQfinish)>;

std::string session_of(PGconn* connection) {
  return PQgetvalue(execute(connection, "SELECT pg_backend_pid()").get(), 0, 0);
}

}  // namespace

void need_own_session(PGconn* connection, const Place& place) {
  const std::string session = session_of(connection);
  if (session == std::to_string(PQbackendPID(connection))) return;
  // Something stands between. Where a session is free as soon as its transaction has ended, the
  // next one to begin has this.
  const ConnectionPtr other(connect(place), &PQfinish);
  execute(other.get(), "BEGIN");
  session_of(other.get());
  if (session_of(connection) == session) return;
  sql::fail({ErrorKind::kRejected, "R257",
             "a pooler before the PostgreSQL server gives each transaction another session: locks "
             "and prepared statements do not last there",
             "connect to the server itself, or let the pooler keep sessions (pool_mode = "
             "session)"});
}

}  // namespace semel::postgres
