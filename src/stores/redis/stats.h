#pragma once

#include <semel/admin/records.h>

#include "stores/redis/core.h"

namespace semel::redis {

// Counted by reading every name; bytes from a sample. Throws core::Failure.
StoreStats stats_of(Core& core);
// Reads no names of records. Throws core::Failure.
StoreStats backlog_of(Core& core);

}  // namespace semel::redis
