// The HTTP handler: an endpoint, in any language, that each message is sent to.
#pragma once

#include <functional>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/http_spec.h"
#include "core/url_template.h"

namespace semel::handlers {

// One thread of its own makes all calls, hundreds at a time, on connections that are used again;
// completions are answered, and gates told, on that thread. With the last copy of the handler it
// ends: what is on its way is given up and answered retry. The last copy must not go from within a
// completion. `environment` is borrowed for as long.
//
// kRejected, naming the part of `spec` that cannot be used, as a URL with a place for an answer;
// kUnavailable where libcurl cannot begin.
Result<AsyncHandler> make_http_handler(core::HttpSpec spec, Environment& environment);

// The same for a step: what is sent differs from the message that it comes of, which the places of
// the URL are about, as they are about the answers of other steps.
struct HttpRequest {
  const Message& sent;
  const Message& message;
  const core::StepAnswers& answers;
};
using HttpCall = std::function<void(const HttpRequest&, const Attempt&, Completion)>;
Result<HttpCall> make_http_call(core::HttpSpec spec, Environment& environment);

}  // namespace semel::handlers
