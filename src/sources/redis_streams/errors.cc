#include "sources/redis_streams/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "clients/redis/error_table.h"
#include "core/reconnect_pause.h"

namespace semel::redis_streams {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFirstWait{50};
constexpr milliseconds kLongestWait{5'000};

}  // namespace

Error refusal_of(const redis::Reply& refused, const core::RedisStreamsSpec& spec) {
  const std::string_view word = redis::word_of(refused.bytes);
  if (word == "NOGROUP") {
    return {
        ErrorKind::kRejected, "R371",
        fmt::format("the stream {} has no group {}: nobody has made it, or it was deleted",
                    spec.stream, spec.group),
        fmt::format("XGROUP CREATE {} {} 0 MKSTREAM; or declare: true", spec.stream, spec.group)};
  }
  if (word == "WRONGTYPE") {
    return {ErrorKind::kRejected, "R372",
            fmt::format("what the server has under the name {} is no stream", spec.stream),
            "name a stream, or another database in source.redis_streams.url"};
  }
  Error error = as_of_source(redis::error_of(refused.bytes));
  if (word == "NOPERM") {
    error.hint = fmt::format("ACL SETUSER … ~{} {}", spec.stream,
                             "+xreadgroup +xack +xclaim +xpending +xrange +xinfo +xgroup +eval "
                             "+evalsha +info +client|setname");
  }
  return error;
}

Error as_of_source(Error error) {
  constexpr std::string_view kStores = "store.redis.url";
  const auto at = error.hint.find(kStores);
  if (at != std::string::npos) error.hint.replace(at, kStores.size(), "source.redis_streams.url");
  return error;
}

milliseconds pause_before(std::size_t tries, std::uint64_t random) noexcept {
  if (tries == 0) return milliseconds(0);
  return core::grown_pause(tries, kFirstWait, kLongestWait, random);
}

}  // namespace semel::redis_streams
