// A server's own settings, and whether records may be entrusted to it.
#pragma once

#include <cstddef>

#include "stores/redis/store_context.h"

namespace semel::redis {

struct Facts {
  bool keeps_log = false;   // appendonly
  bool evicts_all = false;  // keys without an expiry too
  // Bytes of one value (proto-max-bulk-len); all ones where this user may not ask.
  std::size_t largest = static_cast<std::size_t>(-1);
  bool evicts = false;  // maxmemory is set, and the policy is another than noeviction
};

// Notes in `place` whether it is a Cluster; then checks each of its masters, and the worst counts.
// Throws core::Failure for a replica that is no node of a Cluster, for a Cluster with a database
// number, and where eviction is on and not accepted.
Facts look_at(StoreContext::Settings& place, bool accept_eviction, Random& random);

}  // namespace semel::redis
