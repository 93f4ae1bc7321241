#pragma once

#include <vector>

#include <semel/records.h>

#include "stores/redis/names.h"
#include "stores/redis/wire.h"

namespace semel::redis {

// As RecordInspector::verify; reads every name. `full`: every record whole, and its expiry. Throws
// core::Failure.
std::vector<StoreFinding> verify_in(Wire& wire, const Names& names, bool full);

}  // namespace semel::redis
