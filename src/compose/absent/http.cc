// For builds without HTTP.
#include "core/not_built.h"
#include "handlers/http/http_handler.h"

namespace semel::handlers {
namespace {

Error no_http() { return core::not_built("the HTTP handler", "HTTP"); }

}  // namespace

Result<AsyncHandler> make_http_handler(core::HttpSpec, Environment&) { return failure(no_http()); }

Result<HttpCall> make_http_call(core::HttpSpec, Environment&) { return failure(no_http()); }

}  // namespace semel::handlers
