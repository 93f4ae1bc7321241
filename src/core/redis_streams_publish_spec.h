// RedisStreamsPublishSpec: a publisher to a Redis stream as its config or a program describes it.
// Pure.
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
  // The field of an entry that is the message's payload; the other fields are its headers.
  std::string payload = RedisStreamsSpec().payload;
  // The stream is made where it is not there; else it has to be there.
  bool declare = false;
  // With each entry the server may remove the oldest ones, so that about so many are left. None:
  // the stream grows without end.
  std::optional<std::int64_t> max_length;
  // From the call until the server's answer: what has none by then is answered retry.
  std::chrono::milliseconds timeout = kUsualTimeout;
  bool honours_key =
      false;  // declared: readers do nothing again under an Idempotency-Key they know
};

// Why an entry with these headers and this name for its payload would be read as another message,
// in words that follow "the message".
std::optional<std::string> redis_entry_flaw(const Headers& headers, std::string_view payload);

}  // namespace semel::core
