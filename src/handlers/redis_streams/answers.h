// Answers of a Redis server as verdicts, and as news about it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <semel/error.h>

#include "clients/redis/reply.h"
#include "core/judged.h"
#include "core/redis_streams_publish_spec.h"

namespace semel::redis_streams {

using core::Judged;

// `reply`: to XADD. The nil reply of NOMKSTREAM is a stream that is not there.
Judged judge_added(const redis::Reply& reply, const core::RedisStreamsPublishSpec& spec);
// The server that answers so does nothing for the stream at the moment; another one may, or this
// one a moment later: the entry is sent again.
bool is_elsewhere(const redis::Reply& reply) noexcept;

// Nobody mends it.
Judged cannot_be_an_entry(const std::string& flaw);
// There is no connection, so that it was not sent.
Judged not_reached(const Error& error);
// It was sent, and the connection ended before the answer.
Judged not_answered(const Error& error);

// It waited for long enough, or its attempt was stopped.
struct NoAnswer {
  std::chrono::milliseconds after;
  bool sent;
  bool stopped;      // that says nothing about the server
  std::string last;  // what last went wrong on the way; may be empty
};
Judged no_answer_to(const NoAnswer& call);

// An error of the client, whose hints name the store's URL: here it is the handler's.
Error as_of_handler(Error error);

}  // namespace semel::redis_streams
