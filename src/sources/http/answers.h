// The answers to senders of requests, by how the deliveries of their messages ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <semel/bytes.h>
#include <semel/outcome.h>

#include "http_server/http_message.h"

namespace semel::sources {

// The answer for one message: a whole response, or a line in that of a batch.
struct MessageAnswer {
  int status = 200;
  std::string code{};                                      // R323 to R329; empty: it is no error
  std::string detail{};                                    // and why
  std::string fix{};                                       // and what its sender may do
  std::optional<std::chrono::milliseconds> retry_after{};  // in whole seconds, at least one
  Bytes result{};                                          // the handler's, or the stored one
  bool replayed = false;                                   // it was done before
};

// The delivery has ended so, and is settled.
MessageAnswer answer_of(const Outcome& outcome);

// The store keeps the message: 202.
MessageAnswer accepted();

// 503 with R326; to be sent again after `delay`.
MessageAnswer not_now(std::string why, std::chrono::milliseconds delay);
// 504: it is still being handled.
MessageAnswer not_in_time();
// 400 and its like with R324.
MessageAnswer not_taken(int status, std::string why, std::string fix);
// 403: not signed as it should be.
MessageAnswer not_signed(std::string why);
MessageAnswer too_large(std::size_t most);
MessageAnswer too_many_events(std::size_t most);
// For a batch: each of its events has a copy of the request's headers.
MessageAnswer headers_too_large(std::size_t most);
MessageAnswer too_slow();

http::HttpResponse response_of(MessageAnswer answer);

// For a batch of events, each with its answer, in their order: 200 or 202 where each has one of
// these, else the status of the event that needs its sender most. A batch that is sent again is
// safe, so that 503, 504 and 409 come before what nobody can mend by that. The body lists every
// event, without results: together they would have no limit.
http::HttpResponse response_of_batch(std::span<const MessageAnswer> events);

}  // namespace semel::sources
