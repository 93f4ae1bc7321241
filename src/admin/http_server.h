// HttpServer: answers HTTP/1.1 requests on one thread, by a function.
//
// libmicrohttpd with epoll: a connection costs no thread, so that hundreds of idle ones hold up no
// probe, as they would where each idle connection holds a thread of a pool. A handler that would
// wait returns an HttpTask: a few other threads run those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <semel/result.h>

#include "admin/http_message.h"
#include "admin/http_tls.h"
#include "base/listen_address.h"

namespace semel::admin {

struct HttpServerOptions {
  ListenAddress listen;
  std::optional<HttpTls> tls;  // none: plain HTTP
  std::size_t most_connections = 300;
  std::size_t most_request_bytes = 16 << 10;  // request line and headers
  std::size_t most_body_bytes = 64 << 10;     // a larger one is answered 413
  std::chrono::seconds idle{30};              // a connection is closed after this long without data
  std::size_t task_threads = 3;
  std::size_t most_waiting_tasks = 64;
};

class HttpServer {
 public:
  // Listens at once. The handler runs on the server's thread, one request at a time, and its tasks
  // on others; a request whose handler or task throws is answered 500. R340: the address cannot be
  // listened on; R363: the certificate cannot be used.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, HttpHandler handler);
  // Closes all connections, after the tasks that run; nothing is called after it.
  virtual ~HttpServer() = default;

  // The port, also where any free one was asked for.
  virtual std::uint16_t port() const noexcept = 0;
};

}  // namespace semel::admin
