// Shared by the tests of the Redis Streams handler.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "handlers/redis_streams/make_redis_streams_publisher.h"
#include "tests/support/publish_calls.h"
#include "tests/support/redis_server.h"

namespace semel::redis_streams {

using test::keyed_message;
using test::publish;
using test::publish_surely;
using test::publish_through_kills;
using test::PublishCall;
using test::RedisServer;
using test::ToldGate;

inline AsyncHandler publisher_of(const core::RedisStreamsPublishSpec& spec) {
  auto made = make_redis_streams_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

// The lines of XRANGE: an entry's id, and its fields and values.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// How often each key is in the stream, taken from the line after the name of its field.
inline std::map<std::string, int> keys_in(const std::string& range) {
  std::map<std::string, int> times;
  const auto lines = lines_of(range);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i] == "Idempotency-Key") ++times[lines[i + 1]];
  }
  return times;
}

}  // namespace semel::redis_streams
