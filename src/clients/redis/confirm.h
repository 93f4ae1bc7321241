// Confirm: a write counts once enough replicas have it.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "clients/redis/connection.h"

namespace semel::redis {

// How many replicas must have a write, and how long to wait for them. Zero replicas: no waiting.
struct Confirm {
  int replicas = 0;
  std::chrono::milliseconds patience{0};
  // On a single server, what ask_to_confirm() writes to; on a Cluster a name in the slot of what is
  // confirmed.
  std::string name = "confirmed";

  bool wanted() const noexcept { return replicas > 0; }
};

// Sends WAIT behind what was sent on this connection, and before it a write to `name`; so there are
// two more replies, the last ones, which need_confirmed() reads.
//
// A server waits only for what this connection has written last. What is asked again may find all
// of it done already, by a connection that was lost, and write nothing: without a write of its own
// WAIT would confirm what no replica has; so it would if that write is refused.
void ask_to_confirm(Connection& connection, const Confirm& confirm, BytesView name);
// The write to `name` was refused, as while its slot moves or the server is full.
bool confirms_nothing(std::span<const Reply> replies);
// Throws core::Failure, in doubt (R268), if too few replicas had the write in time, or if that is
// not known: the master has it, and a replica that takes over may lack it.
void need_confirmed(std::span<const Reply> replies, const Confirm& confirm);

}  // namespace semel::redis
