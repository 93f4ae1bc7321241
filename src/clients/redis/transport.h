// Transport: a connection to a server, encrypted if its URL says so.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "clients/redis/tls.h"

namespace semel::redis {

// Has the interface of Socket.
class Transport {
 public:
  Transport(const Target& target, Socket::Clock::time_point until) : socket_(target, until) {
    if (target.tls != Target::Tls::kOff) tls_ = std::make_unique<Tls>(socket_, target, until);
  }

  std::ptrdiff_t write(std::string_view bytes) noexcept {
    return tls_ ? tls_->write(bytes) : socket_.write(bytes);
  }
  std::ptrdiff_t read(char* into, std::size_t size) noexcept {
    return tls_ ? tls_->read(into, size) : socket_.read(into, size);
  }
  bool wait(bool write_too, Socket::Clock::time_point until) noexcept {
    return tls_ ? tls_->wait(write_too, until) : socket_.wait(write_too, until);
  }
  // Encrypted bytes wait for room in the socket: write({}) continues to send them.
  bool has_unsent() const noexcept { return tls_ && tls_->has_unsent(); }
  int descriptor() const noexcept { return socket_.descriptor(); }
  bool quiet() const noexcept { return tls_ ? tls_->quiet() : socket_.quiet(); }
  const std::string& error() const noexcept { return tls_ ? tls_->error() : socket_.error(); }

 private:
  Socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace semel::redis
