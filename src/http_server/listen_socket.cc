#include "http_server/listen_socket.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace semel::http {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* found) const noexcept { ::freeaddrinfo(found); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

}  // namespace

tl::unexpected<Error> cannot_listen(const ListenerNames& names, const ListenAddress& address,
                                    const std::string& why, ErrorKind kind) {
  return failure({kind, names.code,
                  fmt::format("{}: cannot listen on {}: {}", names.field, address.text(), why),
                  "give another address or port, or stop the program that has it"});
}

Result<system::Descriptor> listen_on(const ListenAddress& address, int queue,
                                     const ListenerNames& names) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const char* const host = address.host.empty() ? nullptr : address.host.c_str();
  if (const int error = ::getaddrinfo(host, port.c_str(), &wanted, &found); error != 0) {
    return cannot_listen(names, address, ::gai_strerror(error), ErrorKind::kRejected);
  }
  const Addresses addresses(found);
  int error = 0;
  // Every interface: the IPv6 socket takes IPv4 too, where the machine has IPv6. A name of both is
  // taken as IPv4.
  const bool every = address.host.empty();
  for (const int family : {every ? AF_INET6 : AF_INET, every ? AF_INET : AF_INET6}) {
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      if (one->ai_family != family) continue;
      system::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket.valid()) {
        error = errno;
        continue;
      }
      const int on = 1, off = 0;
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (family == AF_INET6)
        ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
          ::listen(socket.get(), queue) == 0) {
        return socket;
      }
      error = errno;
    }
  }
  const bool passes = error == EADDRINUSE || error == EMFILE || error == ENFILE;
  return cannot_listen(names, address, std::strerror(error),
                       passes ? ErrorKind::kUnavailable : ErrorKind::kRejected);
}

}  // namespace semel::http
