#pragma once

#include <memory>

#include <semel/live_checks.h>

#include "stores/redis/router.h"

namespace semel::redis {

std::unique_ptr<LiveChecks> make_live_checks(Router& router);

}  // namespace semel::redis
