// In a build without the HTTP listener: nothing listens.
#include "admin/http_server.h"
#include "core/not_built.h"

namespace semel::admin {

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions, HttpHandler) {
  return failure(core::not_built("the HTTP listener", "ADMIN"));
}

}  // namespace semel::admin
