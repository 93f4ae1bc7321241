#pragma once

#include <memory>

#include <semel/live_checks.h>

#include "stores/redis/pool.h"

namespace semel::redis {

std::unique_ptr<LiveChecks> make_live_checks(Pool& pool);

}  // namespace semel::redis
