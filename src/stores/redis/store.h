// The store with injectable parts, for tests.
#pragma once

#include <memory>
#include <string>

#include <semel/redis.h>

#include "stores/redis/scripts.h"

namespace semel::redis {

struct InnerOptions {
  // Tests use one that they move.
  std::string clock = kServerClock;
};

// As semel::open_redis.
Result<std::unique_ptr<Store>> open_store(RedisOptions options, const InnerOptions& inner);

}  // namespace semel::redis
