// Pooler: checks whether a proxy before the server lets a client keep its session.
#pragma once

#include "stores/postgres/connection.h"

namespace semel::postgres {

// Throws R257 where a pooler gives each transaction another session: locks, LISTEN and prepared
// statements do not last there.
void need_own_session(PGconn* connection, const Endpoint& place);

}  // namespace semel::postgres
