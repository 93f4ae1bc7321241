#pragma once

#include <memory>

#include <semel/spi/live_checks.h>

#include "stores/redis/core.h"

namespace semel::redis {

std::unique_ptr<LiveChecks> make_live_checks(Core& core);

}  // namespace semel::redis
