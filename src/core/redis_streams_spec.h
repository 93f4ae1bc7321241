// RedisStreamsSpec: a Redis Streams source as its config describes it, and the rules that its parts
// must keep. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

struct RedisStreamsSpec {
  // Where a group begins that `declare` makes: at the first entry of the stream, or behind the
  // last one.
  enum class From { kEarliest, kLatest };

  std::string url;  // as of the Redis store
  std::string stream;
  std::string group;
  // The name of this member of the group. Empty: a new one for each run, which is forgotten when
  // nothing is pending for it.
  std::string consumer;
  // The field of an entry that is its payload. An entry without it is the JSON object of its
  // fields.
  std::string payload = "payload";
  // The most entries that are delivered to this member and not acknowledged.
  int prefetch = kUsualPrefetch;
  // The group is made where it is not there, and the stream with it; else both have to be there.
  bool declare = false;
  From from = From::kEarliest;
  // A member that has said nothing for so long is taken for dead: others take over its entries.
  std::chrono::milliseconds claim_after = kUsualClaimAfter;

  static constexpr int kUsualPrefetch = 200;
  static constexpr std::chrono::seconds kUsualClaimAfter{30};
};

// Why no stream, group or member has this name, in words that follow it.
std::optional<std::string> redis_name_flaw(std::string_view name);

}  // namespace semel::core
