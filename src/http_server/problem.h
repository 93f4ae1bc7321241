// Error answers: application/problem+json (RFC 9457), with the code that `semel explain` explains,
// and the fix.
#pragma once

#include <functional>
#include <string_view>

#include <semel/error.h>

#include "http_server/http_message.h"

namespace semel::json {
class Writer;
}

namespace semel::http {

// The name of a status: "Not Found".
std::string_view title_of(int status) noexcept;

// The status that belongs to an error of the store.
int status_of(const Error& error) noexcept;

// 429 and 503 include Retry-After. `more` adds further members.
HttpResponse problem(int status, const Error& error,
                     const std::function<void(json::Writer&)>& more = nullptr);
inline HttpResponse problem(const Error& error) { return problem(status_of(error), error); }

}  // namespace semel::http
