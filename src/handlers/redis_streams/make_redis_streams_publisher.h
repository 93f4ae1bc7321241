// The Redis Streams handler: each message is added to a stream.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/redis_streams_publish_spec.h"

namespace semel::redis_streams {

// Entries are sent one behind the other on a connection of its own; `done` is said when the server
// answers the entry's id, which is the result, behind the stream's name. One thread of its own has
// the connection, makes it again, answers completions and tells gates. With the last copy of the
// handler it ends, after a short wait for answers; what has none is dropped, and so answered retry
// with the outcome unknown. The last copy must not go from within a completion. `environment` is
// borrowed for as long. The first call connects.
//
// kRejected names the part of `spec` that cannot be used: R255, and R259 where the URL cannot be
// read.
Result<AsyncHandler> make_redis_streams_publisher(core::RedisStreamsPublishSpec spec,
                                                  Environment& environment = system_environment());

}  // namespace semel::redis_streams
