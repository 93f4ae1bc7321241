// Sockets of the family AF_UNIX.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string_view>

#include "system/descriptor.h"

namespace semel::system {

// A path that is too long is cut off: give one through /proc/self/fd, which has room.
sockaddr_un unix_address(std::string_view path) noexcept;
// Not blocking; invalid, with errno, where the system gives none.
Descriptor unix_socket() noexcept;
// 0, or the errno.
int connect_unix(int socket, const sockaddr_un& address) noexcept;
// The process at the other end, as the kernel knows it; nullopt: it does not know.
std::optional<ucred> peer_of(int socket) noexcept;

}  // namespace semel::system
