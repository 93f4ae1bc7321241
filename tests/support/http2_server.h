// Http2Server: speaks as much HTTP/2 over TLS as it takes to answer, refuse and ignore requests. On
// a free port of 127.0.0.1, with a thread for each connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system/descriptor.h"
#include "tests/support/tls.h"

namespace semel::test {

struct Http2Request {
  std::size_t connection = 0;  // the number of its connection
  std::uint32_t stream = 0;
  std::string body;
};

struct Http2Reply {
  std::string frames;
  bool closes = false;  // the connection, behind the frames
};

// A whole answer: 200, without a body.
std::string http2_answer(std::uint32_t stream);
// No stream after `last` was or will be processed.
std::string http2_go_away(std::uint32_t last);

class Http2Server {
 public:
  // Called with each whole request, for one at a time.
  using Script = std::function<Http2Reply(const Http2Request&)>;

  explicit Http2Server(Script script);
  ~Http2Server();
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  std::string url() const;
  std::string certificate() const { return identity_.certificate(); }
  std::size_t connections() const;
  std::vector<Http2Request> requests() const;
  // Later connections are refused.
  void stop_listening() noexcept;

 private:
  void accept_all();
  void serve(int fd, std::size_t connection);
  Http2Reply reply_to(Http2Request request);

  const TlsIdentity identity_{"IP:127.0.0.1", "h2"};
  const Script script_;
  system::Descriptor listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Http2Request> requests_;
  std::vector<int> open_;
  std::size_t connections_ = 0;
  bool ending_ = false;
  std::list<std::thread> threads_;
  std::thread thread_;
};

}  // namespace semel::test
