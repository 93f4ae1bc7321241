// Sessions: the name by which other processes know a connection, to find out whether it still
// exists.
//
// A session is the run id of the server, a blank, and the id of the connection, which is unique
// while that run lasts.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "clients/redis/connection.h"

namespace semel::redis {

// The session of this connection; empty if the server does not return one.
Bytes session_of(Connection& connection);

// Returns those of the sessions that exist; nullopt if the server cannot tell. It knows only the
// sessions of its current run: see known_to().
std::optional<std::set<Bytes>> connected(Connection& connection, std::span<const Bytes> sessions);
bool known_to(const Connection& connection, const Bytes& session);

}  // namespace semel::redis
