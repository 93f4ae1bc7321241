// Maps answers of a Redis server to verdicts, and to news about it.
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

// `reply`: to XADD. The nil reply of NOMKSTREAM means that the stream is missing.
Judged judge_added(const redis::Reply& reply, const core::RedisStreamsPublishSpec& spec);
// A server that answers so cannot serve the stream now; another one may, or this one a moment
// later: the entry is sent again.
bool is_elsewhere(const redis::Reply& reply) noexcept;

// Nobody can fix it.
Judged cannot_be_an_entry(const std::string& flaw);
// There is no connection, so it was not sent.
Judged not_reached(const Error& error);
// It was sent, and the connection ended before the answer.
Judged not_answered(const Error& error);

using core::NoAnswer;
Judged no_answer_to(const NoAnswer& call);

// An error of the client, whose hints name the store's URL, with hints for the handler's.
Error as_of_handler(Error error);

}  // namespace semel::redis_streams
