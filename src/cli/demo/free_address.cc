#include "cli/demo/free_address.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdint>

#include "system/descriptor.h"

namespace semel::cli::demo {

namespace {

// Below the ports that the system assigns to connections by itself.
constexpr std::uint16_t kUsualPort = 8585;
constexpr std::uint16_t kLastPort = kUsualPort + 20;

// Binds as the listener does, so that a port that was closed a moment ago counts as free.
bool is_free(std::uint16_t port) {
  const system::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return socket.valid() &&
         ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

std::optional<std::string> free_address() {
  for (std::uint16_t port = kUsualPort; port <= kLastPort; ++port) {
    if (is_free(port)) return fmt::format("127.0.0.1:{}", port);
  }
  return std::nullopt;
}

bool is_free_address(std::string_view address) {
  const std::string_view digits = address.substr(address.rfind(':') + 1);
  std::uint16_t port = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return is_free(port);
}

}  // namespace semel::cli::demo
