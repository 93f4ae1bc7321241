// HttpServer: answers HTTP/1.1 requests on one thread, by a function.
//
// libmicrohttpd with epoll: a connection costs no thread, so that hundreds of idle ones hold up no
// probe, as they would where each idle connection holds a thread of a pool. A handler that would
// wait returns an HttpTask: a few other threads run those. One whose answer comes from elsewhere
// returns HttpPending: thousands of those may be open.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <semel/result.h>

#include "base/listen_address.h"
#include "http_server/framing.h"
#include "http_server/http_message.h"
#include "http_server/http_tls.h"
#include "http_server/listen_socket.h"
#include "http_server/socket_file.h"

namespace semel::http {

struct HttpServerOptions {
  ListenAddress listen;
  std::optional<SocketPath> socket{};  // in place of `listen`: a Unix socket, without TLS
  std::optional<HttpTls> tls{};        // none: plain HTTP
  ListenerNames names{};
  int listen_queue = 128;  // connections that wait to be accepted
  std::size_t most_connections = 300;
  std::size_t most_request_bytes = 16 << 10;  // request line and headers
  std::size_t most_body_bytes = 64 << 10;     // a larger one is answered `too_large`
  // Requests in progress, from their headers to the end of their answers, and the bytes of their
  // bodies; beyond either a request is answered `full`. 0: no limit.
  std::size_t most_requests = 0;
  std::size_t most_bytes = 0;
  std::chrono::seconds idle{30};     // a connection without a request is closed after this long
  std::chrono::seconds receive{30};  // a request that is incomplete by then is cut off
  std::size_t task_threads = 3;      // 0: no handler returns an HttpTask
  std::size_t most_waiting_tasks = 64;
  HttpResponse too_large = plain_text(413, "the body is too large\n");
  HttpResponse too_slow = plain_text(408, "the request did not come whole in time\n");
  HttpResponse full = plain_text(503, "too many requests are in hand\n");
  // Makes the answer to a request that does not say once where it ends; its connection is closed
  // after it. Called as `admit` is, before it. Empty: a problem without a code.
  std::function<HttpResponse(const FramingFault&)> refuse{};
  // Called with a request's headers, before its body is read, on the server's thread: an answer
  // refuses the request. Empty: all are accepted.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> admit{};
  // Called on the server's thread when changed files of `tls` cannot be used: the previous ones
  // stay in use. And with null when they can again.
  std::function<void(const Error*)> on_certificate{};
  // Called now and then while there are connections, on a thread of the server.
  std::function<void()> tick{};
  // Called on the server's thread when all requests that were there have been handled, before it
  // waits for more: whoever passes requests on may wake others once for all of them.
  std::function<void()> round_ended{};
};

class HttpServer {
 public:
  // Listens immediately. The handler runs on the server's thread, one request at a time, and its
  // tasks on others; a request whose handler or task throws is answered 500. Errors have the codes
  // of `names`: the address cannot be listened on, or the certificate cannot be used.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, HttpHandler handler);
  // Closes all connections, after the running tasks; calls nothing afterwards.
  virtual ~HttpServer() = default;

  // The port, also where any free one was asked for; 0 of a Unix socket.
  virtual std::uint16_t port() const noexcept = 0;
  virtual std::size_t connections() const = 0;
  // Accepts no more connections, and waits until every complete request is answered, at most for
  // `deadline`.
  virtual void close(std::chrono::milliseconds deadline) = 0;
};

}  // namespace semel::http
