// For builds without Redis.
#include <semel/redis.h>

#include "clients/redis/url.h"
#include "core/not_built.h"
#include "handlers/redis_streams/make_redis_streams_publisher.h"
#include "sources/redis_streams/make_redis_streams_source.h"

namespace semel {
namespace {

Error no_redis() { return core::not_built("Redis", "REDIS"); }

}  // namespace

Result<std::unique_ptr<Store>> open_redis(RedisOptions) { return failure(no_redis()); }

Result<std::unique_ptr<FrontWindow>> open_redis_front(RedisFrontOptions) {
  return failure(no_redis());
}

namespace redis {

Result<Target> read_target(std::string_view) { return failure(no_redis()); }

}  // namespace redis

namespace redis_streams {

// A config that names Redis is refused before this is called.
Result<std::unique_ptr<Source>> make_redis_streams_source(RedisStreamsOptions, Environment&) {
  return failure(no_redis());
}

Result<AsyncHandler> make_redis_streams_publisher(core::RedisStreamsPublishSpec, Environment&) {
  return failure(no_redis());
}

Result<GroupLook> look_at_group(const core::RedisStreamsSpec&, std::string_view) {
  return failure(no_redis());
}

}  // namespace redis_streams
}  // namespace semel
