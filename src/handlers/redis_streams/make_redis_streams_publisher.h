// The Redis Streams handler: each message is added to a stream.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/redis_streams_publish_spec.h"

namespace semel::redis_streams {

// Entries are sent one after the other on a connection of its own. A call is done when the server
// answers the entry's id; its result is the stream's name followed by that id. A thread of its own
// owns the connection, reconnects, and calls completions and gates. When the last copy of the
// handler is destroyed, it ends, after a short wait for answers; calls without one are dropped, and
// so answered retry with the outcome unknown. The last copy must not be destroyed inside a
// completion. `environment` is borrowed for as long. The first call connects.
//
// kRejected names the unusable part of `spec`: R255, and R259 where the URL cannot be read.
Result<AsyncHandler> make_redis_streams_publisher(core::RedisStreamsPublishSpec spec,
                                                  Environment& environment = system_environment());

}  // namespace semel::redis_streams
