// ListenAddress: "127.0.0.1:8585", "[::1]:8585", "localhost:8585" or ":8585" (every interface).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel {

// The longest path of a Unix socket that clients can give to connect(), in bytes.
inline constexpr std::size_t kLongestSocketPath = 107;

struct ListenAddress {
  std::string host;        // without brackets; empty: every interface
  std::uint16_t port = 0;  // 0: any free one

  // kRejected with a message that begins in lower case and says what is wrong.
  static Result<ListenAddress> parse(std::string_view text);

  std::string text() const;
  // Only programs on this machine can connect.
  bool is_loopback() const noexcept;
};

}  // namespace semel
