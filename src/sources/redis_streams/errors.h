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
// An error of the client, whose hints name the store's URL, with hints for the source's.
Error as_of_source(Error error);

// No waiting mends it.
inline bool is_final(const Error& error) noexcept {
  return error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kInDoubt;
}

// The pause before an attempt to connect, after `tries` failed ones: longer each time, and
// randomised, so that clients that lost one server do not return together.
std::chrono::milliseconds pause_before(std::size_t tries, std::uint64_t random) noexcept;

}  // namespace semel::redis_streams
