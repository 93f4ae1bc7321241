// Tls: encrypts the bytes of a connection, between a Socket and its user.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "clients/redis/socket.h"

// OpenSSL's types, declared here so that its header is not needed.
struct ssl_ctx_st;
struct ssl_st;

namespace semel::redis {

// Not thread-safe. TLS works on memory, and only the Socket touches the connection: so a closed
// peer causes an error and not a signal.
class Tls {
 public:
  // Performs the handshake. Throws core::Failure: R250 if it fails, also because it takes longer
  // than `until` or the server's certificate does not name the host or is not trusted; R259 if a
  // file named by the URL cannot be read. The socket must outlive it.
  Tls(Socket& socket, const Target& target, Socket::Clock::time_point until);

  // As in Socket.
  std::ptrdiff_t write(std::string_view bytes) noexcept;
  std::ptrdiff_t read(char* into, std::size_t size) noexcept;
  bool wait(bool write_too, Socket::Clock::time_point until) noexcept;
  bool quiet() const noexcept;
  // Some of the bytes that write() took are not in the socket yet: write({}) continues to send
  // them.
  bool has_unsent() const noexcept { return !encrypted_.empty(); }
  const std::string& error() const noexcept { return error_; }

 private:
  struct Freed {
    void operator()(ssl_ctx_st* context) const noexcept;
    void operator()(ssl_st* ssl) const noexcept;
  };

  void shake_hands(const Target& target, Socket::Clock::time_point until);
  bool send_encrypted() noexcept;
  bool receive_encrypted() noexcept;
  std::ptrdiff_t over(const std::string& why) noexcept;

  Socket& socket_;
  std::unique_ptr<ssl_ctx_st, Freed> context_;
  std::unique_ptr<ssl_st, Freed> ssl_;  // with two memory buffers of its own
  std::string encrypted_;               // not sent yet
  bool more_ = false;                   // there may be more to read without waiting
  std::string error_;
};

}  // namespace semel::redis
