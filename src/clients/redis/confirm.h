// Confirm: a write counts once enough replicas have it.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "clients/redis/connection.h"

namespace semel::redis {

// How many replicas must have a write, and how long to wait for them. With zero replicas there is
// no wait.
struct Confirm {
  int replicas = 0;
  std::chrono::milliseconds patience{0};
  // The key that ask_to_confirm() writes to on a single server; on a Cluster, it writes to a name
  // in the slot of the confirmed key.
  std::string name = "confirmed";

  bool wanted() const noexcept { return replicas > 0; }
};

// Sends a write to `name` and then WAIT, after everything sent on this connection so far. This adds
// two replies at the end, which need_confirmed() reads.
//
// WAIT covers only the last write of this connection. A repeated command may find everything done
// already, by a connection that was lost, and write nothing: without a write of its own WAIT would
// confirm data that no replica has. The same happens if that write is refused.
void ask_to_confirm(Connection& connection, const Confirm& confirm, BytesView name);
// Whether the write to `name` was refused, for example because its slot moves or the server is
// full.
bool confirms_nothing(std::span<const Reply> replies);
// Throws core::Failure, in doubt (R268), if too few replicas had the write in time or if that is
// unknown: the master has it, but a replica that takes over may lack it.
void need_confirmed(std::span<const Reply> replies, const Confirm& confirm);

}  // namespace semel::redis
