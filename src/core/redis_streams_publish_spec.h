// RedisStreamsPublishSpec: the settings of a publisher to a Redis stream, from its config or from
// C++. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

#include "core/pace.h"
#include "core/redis_streams_spec.h"

namespace semel::core {

struct RedisStreamsPublishSpec {
  std::string url;  // as of the Redis store
  std::string stream;
  // The entry's field for the message's payload; the other fields are its headers.
  std::string payload = RedisStreamsSpec().payload;
  // Create the stream where it is missing; otherwise it must exist.
  bool declare = false;
  // The server may remove the oldest entries with each new one, so that about this many are left.
  // nullopt: the stream grows without end.
  std::optional<std::int64_t> max_length;
  // From the call until the server's answer; without an answer by then, the answer is retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key = false;  // declared: readers do nothing for an Idempotency-Key they have seen
};

// Why an entry with these headers and this payload field would be read as another message, in words
// that follow "the message".
std::optional<std::string> redis_entry_flaw(const Headers& headers, std::string_view payload);

}  // namespace semel::core
