// Makes the Redis Streams source, and inspects its group without it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/source.h>

#include "core/redis_streams_spec.h"
#include "sources/redis_streams/group_state.h"

namespace semel::redis_streams {

// It ends unless it follows.
inline constexpr SourceTraits kSourceTraits{
    .name = "redis_streams", .marks_again = true, .tells_lag = true};

struct RedisStreamsOptions {
  core::RedisStreamsSpec spec;
  // If false, at_end can become true: when the stream has nothing new and nothing of the group is
  // pending, except for live members; or when as much as the prefetch allows is received and
  // nothing of it is settled.
  bool follow = true;
};

// A stream, read as a member of a consumer group. It connects at the first receive, and reconnects
// by itself. kRejected (R259): the URL cannot be read.
Result<std::unique_ptr<Source>> make_redis_streams_source(
    RedisStreamsOptions options, Environment& environment = system_environment());

struct GroupLook {
  GroupState state;
  bool logged = true;  // the server keeps a log of acknowledged writes
  // The one that acknowledges entries: the store of that URL with their records, or the source.
  enum class SettledBy { kSource, kStore } settled_by = SettledBy::kSource;
  std::string refused;  // why the store may not, although it is on the same server
};
// Asks the server, and that of the store at `store_url` if it is not empty; reads no entries. A
// group that does not exist yet has nothing. Errors: as a run would be refused, or kUnavailable.
Result<GroupLook> look_at_group(const core::RedisStreamsSpec& spec,
                                std::string_view store_url = {});

}  // namespace semel::redis_streams
