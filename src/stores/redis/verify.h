#pragma once

#include <vector>

#include <semel/records.h>

#include "stores/redis/inspector_scripts.h"
#include "stores/redis/names.h"
#include "stores/redis/wire.h"

namespace semel::redis {

// As RecordInspector::verify; reads every name. `full`: every record whole, its expiry, and what
// waits. Throws core::Failure.
std::vector<StoreFinding> verify_in(Wire& wire, const Names& names, InspectorScripts& scripts,
                                    bool full);

}  // namespace semel::redis
