// Builds `source.redis_streams:`, and checks it with the rest of its consumer.
#pragma once

#include "config/build.h"

namespace semel::config {

inline bool on_redis_streams(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<RedisStreamsSource>(consumer.source);
}

// Refuses a name that Redis would accept, but that must be a mistake. The handler has such names
// too.
void check_redis_name(const View& streams, const char* name, const char* help, Report& report);

core::RedisStreamsSpec build_redis_streams(const View& streams, Report& report);

// W048: an order together with a new member name for each run.
void check_redis_streams(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
