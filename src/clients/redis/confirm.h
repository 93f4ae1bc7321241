// Confirm: a write counts once enough replicas have it.
#pragma once

#include <chrono>

#include "clients/redis/connection.h"

namespace semel::redis {

// How many replicas must have a write, and how long to wait for them. Zero replicas: no waiting.
struct Confirm {
  int replicas = 0;
  std::chrono::milliseconds patience{0};

  bool wanted() const noexcept { return replicas > 0; }
};

// Sends WAIT behind the writes of this connection. Its reply is for need_confirmed().
void ask_to_confirm(Connection& connection, const Confirm& confirm);
// Throws core::Failure, in doubt (R268), if too few replicas had the write in time: the master has
// it, and a replica that takes over may lack it.
void need_confirmed(const Reply& reply, const Confirm& confirm);

}  // namespace semel::redis
