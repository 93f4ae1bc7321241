#pragma once

#include <memory>
#include <string>

#include <semel/admin/audit.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

// `clock`: as for Scripts. The core outlives it.
std::unique_ptr<AuditLog> make_audit(StoreContext& context, const std::string& clock);

}  // namespace semel::redis
