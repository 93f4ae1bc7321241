// HttpServer: answers HTTP/1.1 requests that have no body, on one thread, by a function.
//
// libmicrohttpd with epoll: a connection costs no thread, so that hundreds of idle ones hold up no
// probe, as they would where each idle connection holds a thread of a pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/result.h>

#include "base/listen_address.h"

namespace semel::admin {

struct HttpRequest {
  std::string_view method;
  std::string_view path;  // without the query
  // The value of the header, in any case; nullopt: the request has none.
  std::function<std::optional<std::string_view>(const char* name)> header;
};

struct HttpResponse {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpServerOptions {
  ListenAddress listen;
  std::size_t most_connections = 300;
  std::size_t most_request_bytes = 16 << 10;  // request line and headers
  std::chrono::seconds idle{30};              // a connection is closed after this long without data
};

class HttpServer {
 public:
  // Listens at once. The handler runs on the server's thread, one request at a time; a request
  // whose handler throws is answered 500. R340: the address cannot be listened on.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, HttpHandler handler);
  // Closes all connections; the handler is not called after it.
  virtual ~HttpServer() = default;

  // The port, also where any free one was asked for.
  virtual std::uint16_t port() const noexcept = 0;
};

}  // namespace semel::admin
