#include "handlers/redis_streams/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <semel/reason.h>

#include "clients/redis/error_table.h"
#include "core/error_text.h"

namespace semel::redis_streams {

namespace {

using Server = Judged::Broker;

Judged try_again(std::string_view word, std::string why, Server server, bool unknown) {
  return core::judged_again(reason::redis_streams_reason(word), std::move(why), server, unknown);
}

Judged nobody_mends(std::string_view word, std::string why) {
  return core::judged_dead(reason::redis_streams_reason(word), std::move(why), Server::kSilent);
}

// The server compares the size of each field with proto-max-bulk-len. If it is larger, the server
// disconnects.
bool says_too_large(std::string_view said) {
  return said.find("Protocol error: invalid bulk length") != std::string_view::npos;
}

Judged judge_refusal(const redis::Reply& refused, const core::RedisStreamsPublishSpec& spec) {
  const std::string_view word = redis::word_of(refused.bytes);
  if (word == "WRONGTYPE") {
    return try_again("stream",
                     fmt::format("what the server has under the name {} is no stream: name another "
                                 "one, or another database in handler.redis_streams.url",
                                 spec.stream),
                     Server::kAtFault, false);
  }
  if (says_too_large(refused.bytes)) {
    return nobody_mends(
        "too_large",
        fmt::format("a field is larger than the server's proto-max-bulk-len ({})", refused.bytes));
  }
  const Error error = as_of_handler(redis::error_of(refused.bytes));
  if (word == "NOPERM") {
    return try_again("denied",
                     fmt::format("{}; ACL SETUSER … ~{} +xadd +info +client|setname", error.message,
                                 spec.stream),
                     Server::kAtFault, false);
  }
  if (word == "NOAUTH")
    return try_again("denied", core::text_with_hint(error), Server::kAtFault, false);
  return try_again(word == "OOM" ? "full" : "server", core::text_with_hint(error), Server::kAtFault,
                   false);
}

}  // namespace

Judged judge_added(const redis::Reply& reply, const core::RedisStreamsPublishSpec& spec) {
  if (reply.is_error()) return judge_refusal(reply, spec);
  if (reply.kind == redis::Reply::Kind::kNil) {
    return try_again("stream",
                     fmt::format("there is no stream {}: make it, or let it be made: declare: true",
                                 spec.stream),
                     Server::kAtFault, false);
  }
  Judged made;
  made.verdict = done(fmt::format("{}-{}", spec.stream, reply.bytes));
  return made;
}

bool is_elsewhere(const redis::Reply& reply) noexcept {
  constexpr std::array<std::string_view, 7> kWords = {
      "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN"};
  return reply.is_error() && std::ranges::find(kWords, redis::word_of(reply.bytes)) != kWords.end();
}

Judged cannot_be_an_entry(const std::string& flaw) {
  return nobody_mends("invalid", fmt::format("no entry can carry it: the message {}", flaw));
}

Judged not_reached(const Error& error) {
  return try_again("connect", core::text_with_hint(error), Server::kAtFault, false);
}

Judged not_answered(const Error& error) {
  return try_again("reset", core::text_with_hint(error), Server::kAtFault, true);
}

Judged no_answer_to(const NoAnswer& call) {
  return core::judged_no_answer(call, reason::redis_streams_reason("timeout"));
}

Error as_of_handler(Error error) {
  constexpr std::string_view kOfTheStore = "store.redis.url";
  const auto at = error.hint.find(kOfTheStore);
  if (at != std::string::npos) {
    error.hint.replace(at, kOfTheStore.size(), "handler.redis_streams.url");
  }
  return error;
}

}  // namespace semel::redis_streams
