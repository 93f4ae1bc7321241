// HttpServer: answers, or fails to, as its scripts say. One thread, on a free port of 127.0.0.1.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system/descriptor.h"
#include "tests/support/tls.h"

namespace semel::test {

struct HttpRequest {
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, as they came
  std::string body;
  std::size_t connection = 0;  // the number of its connection

  // All values of `name`, one after the other with "|" between them; "(none)".
  std::string header(std::string_view name) const;
};

struct HttpReply {
  enum class Then { kKeep, kClose, kReset, kHang };

  std::string bytes;       // status line and all
  std::size_t filler = 0;  // and then as many times an x
  Then then = Then::kKeep;
  std::chrono::milliseconds every{0};  // one byte after the other; 0: all together
  std::size_t after_requests = 0;      // not before this many have arrived, for all paths
};

// With the Content-Length of `body`. `headers`: whole lines, each with its \r\n.
HttpReply reply(int status, std::string_view body = "", std::string_view headers = "");
// Sends raw bytes, and then acts as `then` says.
HttpReply raw(std::string bytes, HttpReply::Then then = HttpReply::Then::kClose);

class HttpServer {
 public:
  // Called on the server's thread; `times`: how often the path was requested before.
  using Script = std::function<HttpReply(const HttpRequest&, std::size_t times)>;

  // `identity`: speaks TLS with it; borrowed.
  explicit HttpServer(const TlsIdentity* identity = nullptr);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Sets the script of a path. Paths without one are answered 200, without a body.
  void on(std::string path, Script script);
  void on(std::string path, HttpReply always);
  // Sent on each new connection, before any request.
  void greet(HttpReply greeting);

  // Releases the answers that wait for more requests.
  void release();

  int port() const noexcept { return port_; }
  std::string url(std::string_view path = "/") const;

  std::vector<HttpRequest> requests() const;
  std::size_t connections() const;
  std::size_t closed_by_peer() const;
  // False where it took too long.
  bool wait_requests(std::size_t count);
  bool wait_closed_by_peer(std::size_t count);

 private:
  struct Connection;
  void wake() const;
  void serve();
  void accept_all();
  void read_from(Connection& connection);
  bool take_request(Connection& connection);
  HttpReply reply_to(const HttpRequest& request);
  void write_to(Connection& connection);
  int poll_timeout() const;
  void close(Connection& connection, bool reset);

  const TlsIdentity* identity_;
  system::Descriptor listener_;
  int wake_ = -1;
  int port_ = 0;
  std::list<Connection> open_;  // the thread's own
  std::map<std::string, std::size_t> times_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, Script> scripts_;
  HttpReply greeting_;
  bool greets_ = false;
  std::vector<HttpRequest> requests_;
  std::size_t connections_ = 0;
  std::size_t closed_by_peer_ = 0;
  bool released_ = false;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace semel::test
