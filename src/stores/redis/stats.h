#pragma once

#include <semel/records.h>

#include "stores/redis/names.h"
#include "stores/redis/wire.h"

namespace semel::redis {

// Counted by reading every name; bytes from a sample. Throws core::Failure.
StoreStats stats_of(Wire& wire, const Names& names);

}  // namespace semel::redis
