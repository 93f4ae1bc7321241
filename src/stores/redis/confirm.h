// Confirm: a write counts when as many replicas as are asked for have it.
#pragma once

#include <chrono>

#include "stores/redis/wire.h"

namespace semel::redis {

// How many replicas, and for how long they are waited for; none: nobody waits.
struct Confirm {
  int replicas = 0;
  std::chrono::milliseconds patience{0};

  bool wanted() const noexcept { return replicas > 0; }
};

// Behind what was written on this connection. The answer to it is for need_confirmed().
void ask_to_confirm(Wire& wire, const Confirm& confirm);
// Throws core::Failure, in doubt (R268), where too few had it in time: it is done here, and a
// replica that takes over may lack it.
void need_confirmed(const Reply& reply, const Confirm& confirm);

}  // namespace semel::redis
