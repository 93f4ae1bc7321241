#pragma once

#include <memory>

#include <semel/spi/live_checks.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

std::unique_ptr<LiveChecks> make_live_checks(StoreContext& context);

}  // namespace semel::redis
