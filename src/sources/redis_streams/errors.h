// A server's refusals, as errors of the source.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <semel/error.h>

#include "clients/redis/reply.h"
#include "core/redis_streams_spec.h"

namespace semel::redis_streams {

// `refused`: an error reply to a command about the stream.
Error refusal_of(const redis::Reply& refused, const core::RedisStreamsSpec& spec);
// An error of the client, whose hints name the store's URL: here it is the source's.
Error as_of_source(Error error);

// No waiting mends it.
inline bool is_final(const Error& error) noexcept {
  return error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kInDoubt;
}

// How long to wait before a try to connect, after so many in vain: longer each time, and never the
// same for all that lost one server.
std::chrono::milliseconds pause_before(std::size_t tries, std::uint64_t random) noexcept;

}  // namespace semel::redis_streams
