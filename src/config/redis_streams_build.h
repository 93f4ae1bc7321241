// `source.redis_streams:` into its spec, and what it asks of the rest.
#pragma once

#include "config/build.h"

namespace semel::config {

inline bool on_redis_streams(const ConsumerConfig& consumer) noexcept {
  return std::holds_alternative<RedisStreamsSource>(consumer.source);
}

// Refuses a name that Redis would take and nobody means. The handler has such names too.
void check_redis_name(const View& streams, const char* name, const char* help, Report& report);

core::RedisStreamsSpec build_redis_streams(const View& streams, Report& report);

// W048: an order, and a new name for each run.
void check_redis_streams(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
