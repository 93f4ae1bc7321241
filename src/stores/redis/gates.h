#pragma once

#include <memory>
#include <string>

#include <semel/admin/gates.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// `clock`: as for Scripts. The core outlives it.
std::unique_ptr<Gates> make_gates(StoreContext& context, const std::string& clock);

}  // namespace semel::redis
