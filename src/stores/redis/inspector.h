#pragma once

#include <memory>
#include <string>

#include <semel/admin/records.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// `clock`: as for Scripts. The core outlives it. Calls for more than one record read every name of
// the store.
std::unique_ptr<RecordInspector> make_inspector(StoreContext& context, const std::string& clock);

}  // namespace semel::redis
