#pragma once

#include <semel/admin/records.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// Counted by reading every name; bytes from a sample. Throws core::Failure.
StoreStats stats_of(StoreContext& context);
// Reads no names of records. Throws core::Failure.
StoreStats backlog_of(StoreContext& context);

}  // namespace semel::redis
