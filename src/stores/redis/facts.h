// What a server says of itself, and whether records may be entrusted to it.
#pragma once

#include "stores/redis/wire.h"

namespace semel::redis {

struct Facts {
  bool keeps_log = false;   // appendonly
  bool evicts_all = false;  // what has no expiry too
  bool evicts = false;      // maxmemory is set, and the policy is another than noeviction
};

// Throws core::Failure where it is a replica, a node of a Cluster, or evicts what is not accepted.
Facts look_at(Wire& wire, bool accept_eviction);

}  // namespace semel::redis
