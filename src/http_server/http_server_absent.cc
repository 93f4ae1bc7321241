// For builds without the HTTP listener of a run and without the HTTP source.
#include "core/not_built.h"
#include "http_server/http_server.h"

namespace semel::http {

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions, HttpHandler) {
  return failure(core::not_built("the HTTP server", "HTTP_SOURCE"));
}

}  // namespace semel::http
