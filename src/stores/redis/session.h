// Sessions: a connection as others know it, so that they can tell whether it is there.
//
// It is told as the life of the server, a blank, and the connection's number, which no other
// connection has in that life.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "stores/redis/wire.h"

namespace semel::redis {

// Of this connection; empty where the server does not say.
Bytes session_of(Wire& wire);

// Which of the sessions are there. None where the server does not tell.
//
// Only of those of its present life anything is known: known_to() tells.
std::optional<std::set<Bytes>> connected(Wire& wire, std::span<const Bytes> sessions);
bool known_to(const Wire& wire, const Bytes& session);

}  // namespace semel::redis
