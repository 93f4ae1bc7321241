// Socket: bytes to and from a server, over TCP or a unix socket. It blocks no longer than the
// caller allows. TLS runs between a Socket and a Connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "clients/redis/url.h"
#include "system/descriptor.h"

namespace semel::redis {

class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws core::Failure (R250). Looking up a host name may take longer than `until`.
  Socket(const Target& target, Clock::time_point until);

  // Returns how many bytes were transferred without waiting, possibly 0; -1 if the connection is
  // over, and error() returns the cause.
  std::ptrdiff_t write(std::string_view bytes) noexcept;
  std::ptrdiff_t read(char* into, std::size_t size) noexcept;
  // Waits until it can read, or write if `write_too`. False if `until` is reached first, or the
  // target's stop_fd is readable.
  bool wait(bool write_too, Clock::time_point until) noexcept;

  int descriptor() const noexcept { return fd_.get(); }
  // Whether the connection is open and has nothing to read. Does not wait.
  bool quiet() const noexcept;
  const std::string& error() const noexcept { return error_; }

 private:
  std::ptrdiff_t done(std::ptrdiff_t bytes) noexcept;

  system::Descriptor fd_;
  int stop_fd_ = -1;
  std::string error_;
};

// The deadline for the first of `parts` steps that share the time until `until` evenly.
Socket::Clock::time_point part_of(Socket::Clock::time_point now, Socket::Clock::time_point until,
                                  std::size_t parts) noexcept;

}  // namespace semel::redis
