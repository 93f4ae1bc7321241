#pragma once

#include <vector>

#include <semel/admin/records.h>

#include "stores/redis/inspector_scripts.h"
#include "stores/redis/store_context.h"

namespace semel::redis {

// As RecordInspector::verify; reads every name. `full`: every record completely, its expiry, and
// the waiting rows. Throws core::Failure.
std::vector<StoreFinding> verify_in(StoreContext& context, InspectorScripts& scripts, bool full);

}  // namespace semel::redis
