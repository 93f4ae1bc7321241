// An HTTP request and its answer, as handlers of HttpServer see them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace semel::http {

// Borrows from the connection: copy whatever must outlive the handler.
struct HttpRequest {
  std::string_view method;
  std::string_view path;  // as it was sent, with escapes, without the query
  // The value of the header, in any case; nullopt: the request has none.
  std::function<std::optional<std::string_view>(const char* name)> header;
  // Names and values of the query, unescaped, in their order; nullopt where an escape is wrong.
  std::function<std::optional<std::vector<std::pair<std::string, std::string>>>()> query;
  std::string_view body;
  // All of its headers, in their order.
  std::function<std::vector<std::pair<std::string_view, std::string_view>>()> headers;
  // The user of the process at the other end of a Unix socket; nullopt on every other one.
  std::optional<uid_t> user{};
};

struct HttpResponse {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpResponse plain_text(int status, std::string body);
// The answer for a handler that threw.
HttpResponse internal_error();

// Work that may wait: it runs on another thread, while the connection is suspended.
struct HttpTask {
  std::function<HttpResponse()> run;
  std::chrono::milliseconds patience{0};
  HttpResponse refused;  // if it was not begun
  HttpResponse late;     // if it was begun, and takes too long
};

// Answers a request whose connection is suspended. Thread-safe. Only the first answer counts; one
// after the server's end is dropped.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;
  virtual void answer(HttpResponse response) noexcept = 0;
  // Runs `give`, which answers this request and many others of the same server: its thread is woken
  // once for all of them.
  virtual void answer_together(const std::function<void()>& give) = 0;
};

// The answer is given elsewhere, later.
struct HttpPending {
  // Called once, on the server's thread; it may answer immediately.
  std::function<void(std::shared_ptr<HttpResponder> responder)> begin;
};

using HttpReply = std::variant<HttpResponse, HttpTask, HttpPending>;
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

}  // namespace semel::http
