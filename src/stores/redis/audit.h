#pragma once

#include <memory>
#include <string>

#include <semel/admin/audit.h>

#include "stores/redis/core.h"

namespace semel::redis {

// `clock`: as for Scripts. The core outlives it.
std::unique_ptr<AuditLog> make_audit(Core& core, const std::string& clock);

}  // namespace semel::redis
