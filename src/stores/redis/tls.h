// Tls: the bytes of a connection, encrypted, between a Socket and who uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "stores/redis/socket.h"

// OpenSSL's, whose header is not for everybody.
struct ssl_ctx_st;
struct ssl_st;

namespace semel::redis {

// Not for several threads. The bytes pass through memory, and the socket alone touches the
// connection: a peer that is gone is an error there and no signal.
class Tls {
 public:
  // Shakes hands. Throws core::Failure: R250 where that fails, also because the server's
  // certificate is not the host's or nobody's that is trusted; R259 where a file of the URL cannot
  // be read. The socket outlives it.
  Tls(Socket& socket, const Target& target);

  // As those of Socket.
  std::ptrdiff_t write(std::string_view bytes) noexcept;
  std::ptrdiff_t read(char* into, std::size_t size) noexcept;
  bool wait(bool write_too, Socket::Clock::time_point until) noexcept;
  bool quiet() const noexcept;
  const std::string& error() const noexcept { return error_; }

 private:
  struct Freed {
    void operator()(ssl_ctx_st* context) const noexcept;
    void operator()(ssl_st* ssl) const noexcept;
  };

  void shake_hands(const Target& target);
  bool send_encrypted() noexcept;
  bool receive_encrypted() noexcept;
  std::ptrdiff_t over(const std::string& why) noexcept;

  Socket& socket_;
  std::unique_ptr<ssl_ctx_st, Freed> context_;
  std::unique_ptr<ssl_st, Freed> ssl_;  // with two buffers of memory of its own
  std::string encrypted_;               // not sent yet
  bool more_ = false;                   // there may be more to read without waiting
  std::string error_;
};

}  // namespace semel::redis
