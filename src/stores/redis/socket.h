// Socket: bytes to and from a server, over TCP or a unix socket, never blocking for longer than it
// is told to. What speaks TLS stands between this and the Wire.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "stores/redis/url.h"
#include "system/descriptor.h"

namespace semel::redis {

class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws core::Failure (R250). Looking up a host's name may take longer than the timeout.
  explicit Socket(const Target& target);

  // What could be done at once: bytes; 0 where nothing could; or -1 where the connection is over,
  // and error() says why.
  std::ptrdiff_t write(std::string_view bytes) noexcept;
  std::ptrdiff_t read(char* into, std::size_t size) noexcept;
  // Waits until it can read, or write where that is wanted too. False where `until` came first.
  bool wait(bool write_too, Clock::time_point until) noexcept;

  // Nobody has ended it and nothing has come that was not asked for. Does not wait.
  bool quiet() const noexcept;
  const std::string& error() const noexcept { return error_; }

 private:
  std::ptrdiff_t done(std::ptrdiff_t bytes) noexcept;

  system::Descriptor fd_;
  std::string error_;
};

}  // namespace semel::redis
