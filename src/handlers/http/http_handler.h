// The HTTP handler: an endpoint, in any language, that each message is sent to.
#pragma once

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/http_spec.h"

namespace semel::handlers {

// One thread of its own makes all calls, hundreds at a time, on connections that are used again;
// completions are answered, and gates told, on that thread. With the last copy of the handler it
// ends: what is on its way is given up and answered retry. The last copy must not go from within a
// completion. `environment` is borrowed for as long.
//
// kRejected, naming the part of `spec` that cannot be used; kUnavailable where libcurl cannot
// begin.
Result<AsyncHandler> make_http_handler(core::HttpSpec spec, Environment& environment);

}  // namespace semel::handlers
