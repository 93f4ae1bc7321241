#include "system/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace semel::system {

sockaddr_un unix_address(std::string_view path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

Descriptor unix_socket() noexcept {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int connect_unix(int socket, const sockaddr_un& address) noexcept {
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket, to, sizeof address) == 0 ? 0 : errno;
}

std::optional<ucred> peer_of(int socket) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace semel::system
