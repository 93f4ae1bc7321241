// RedisStreamsSpec: the config of a Redis Streams source, and the rules that its parts must keep.
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

struct RedisStreamsSpec {
  // Where a group made by `declare` begins: at the first entry of the stream, or after the last
  // one.
  enum class From { kEarliest, kLatest };

  std::string url;  // as of the Redis store
  std::string stream;
  std::string group;
  // The name of this member of the group. Empty: a new name for each run, which is removed when
  // nothing is pending for it.
  std::string consumer;
  // The field of an entry that is its payload. Without that field, the payload is the JSON object
  // of all fields.
  std::string payload = "payload";
  // The most unacknowledged entries of this member.
  int prefetch = kUsualPrefetch;
  // Create the group where it is missing, and the stream with it; otherwise both must exist.
  bool declare = false;
  From from = From::kEarliest;
  // A member that was silent for this long counts as dead: others take over its entries.
  std::chrono::milliseconds claim_after = kUsualClaimAfter;

  static constexpr int kUsualPrefetch = 200;
  static constexpr std::chrono::seconds kUsualClaimAfter{30};
};

// Why no stream, group or member can have this name, in words that follow it.
std::optional<std::string> redis_name_flaw(std::string_view name);

}  // namespace semel::core
