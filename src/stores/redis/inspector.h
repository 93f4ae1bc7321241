#pragma once

#include <memory>
#include <string>

#include <semel/admin/records.h>

#include "stores/redis/core.h"

namespace semel::redis {

// `clock`: as of Scripts. The core outlives it. What looks at more than one record reads every
// name of the store.
std::unique_ptr<RecordInspector> make_inspector(Core& core, const std::string& clock);

}  // namespace semel::redis
