// What a server says of itself, and whether records may be entrusted to it.
#pragma once

#include <cstddef>

#include "stores/redis/core.h"

namespace semel::redis {

struct Facts {
  bool keeps_log = false;   // appendonly
  bool evicts_all = false;  // what has no expiry too
  // Bytes of one value (proto-max-bulk-len); all ones where this user may not ask.
  std::size_t largest = static_cast<std::size_t>(-1);
  bool evicts = false;  // maxmemory is set, and the policy is another than noeviction
};

// Says in `place` whether it is a Cluster; then each of its masters is looked at, and the worst
// counts. Throws core::Failure where it is a replica that is no node of a Cluster, where a Cluster
// is to have databases, and where it evicts what is not accepted.
Facts look_at(Core::Place& place, bool accept_eviction, Random& random);

}  // namespace semel::redis
