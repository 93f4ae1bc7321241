// The answers of requests, by how their deliveries ended.
#pragma once

#include <chrono>
#include <string>

#include <semel/outcome.h>

#include "http_server/http_message.h"

namespace semel::sources {

// The delivery has ended so, and is settled.
http::HttpResponse answer_of(const Outcome& outcome);

// The store keeps the message: 202.
http::HttpResponse accepted();

// 503 with R326; to be sent again after `delay`, in whole seconds.
http::HttpResponse not_now(std::string why, std::chrono::milliseconds delay);
// 504: it is still being handled.
http::HttpResponse not_in_time();
// 400 and its like with R324.
http::HttpResponse not_taken(int status, std::string why, std::string fix);
// 403: not signed as it should be.
http::HttpResponse not_signed(std::string why);
http::HttpResponse too_large(std::size_t most);
http::HttpResponse too_slow();

}  // namespace semel::sources
