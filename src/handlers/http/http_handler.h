// The HTTP handler: sends each message to an endpoint, in any language.
#pragma once

#include <functional>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/http_spec.h"
#include "core/url_template.h"

namespace semel::handlers {

// A thread of its own makes all calls, hundreds at a time, on connections that are reused;
// completions and gates are called on that thread. When the last copy of the handler is destroyed,
// it ends: pending calls are aborted and answered retry. The last copy must not be destroyed inside
// a completion. `environment` is borrowed for as long.
//
// kRejected names the unusable part of `spec`, such as a URL with a place for an answer;
// kUnavailable where libcurl cannot start.
Result<AsyncHandler> make_http_handler(core::HttpSpec spec, Environment& environment);

// The same for a step: the sent message differs from the message that the step belongs to. The
// places of the URL refer to the latter, and to the answers of other steps.
struct HttpRequest {
  const Message& sent;
  const Message& message;
  const core::StepAnswers& answers;
};
using HttpCall = std::function<void(const HttpRequest&, const Attempt&, Completion)>;
Result<HttpCall> make_http_call(core::HttpSpec spec, Environment& environment);

}  // namespace semel::handlers
