#include "clients/redis/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "core/failure.h"
#include "system/descriptor_limit.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

std::string words(int error) { return std::generic_category().message(error); }

[[noreturn]] void unreachable(const Target& target, const std::string& why) {
  const std::string server = "the Redis server at " + endpoint_text(target);
  if (auto none = system::descriptor_limit_now(server)) core::fail(*std::move(none));
  core::fail({ErrorKind::kUnavailable, "R250", fmt::format("{} cannot be reached: {}", server, why),
              "check host and port in store.redis.url, and that the server runs"});
}

// False if `until` is reached first, or `stop_fd` is readable and the other is not ready.
bool poll_until(int fd, short events, Socket::Clock::time_point until, int stop_fd) noexcept {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Socket::Clock::now()).count();
    pollfd both[] = {{fd, events, 0}, {stop_fd, POLLIN, 0}};
    const int ready = ::poll(both, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0 && both[0].revents != 0;
  }
}

// Zero, or the errno of the failure.
int connect_to(int fd, const sockaddr* address, socklen_t size, Socket::Clock::time_point until,
               int stop_fd) {
  if (::connect(fd, address, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!poll_until(fd, POLLOUT, until, stop_fd)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

system::Descriptor new_socket(int family) {
  return system::Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

system::Descriptor connect_by_path(const Target& target, Socket::Clock::time_point until) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (target.socket.size() >= sizeof address.sun_path) {
    unreachable(target, "the path of the socket is too long");
  }
  std::memcpy(address.sun_path, target.socket.data(), target.socket.size());
  system::Descriptor fd = new_socket(AF_UNIX);
  if (!fd.valid()) unreachable(target, words(errno));
  const int error = connect_to(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                               sizeof address, until, target.stop_fd);
  if (error != 0) unreachable(target, words(error));
  return fd;
}

// Keepalive detects a vanished peer, also while the connection is idle.
void tune(int fd) {
  const int on = 1;
  const int idle_seconds = 60;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
}

system::Descriptor connect_by_name(const Target& target, Socket::Clock::time_point until) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(target.port);
  const int answer = ::getaddrinfo(target.host.c_str(), port.c_str(), &wanted, &found);
  if (answer != 0) unreachable(target, ::gai_strerror(answer));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  std::size_t left = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) ++left;
  // An address that does not answer leaves the others their share of the time.
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next, --left) {
    system::Descriptor fd = new_socket(one->ai_family);
    const auto its_own = part_of(Socket::Clock::now(), until, left);
    error = fd.valid()
                ? connect_to(fd.get(), one->ai_addr, one->ai_addrlen, its_own, target.stop_fd)
                : errno;
    if (error != 0) continue;
    tune(fd.get());
    return fd;
  }
  unreachable(target, words(error));
}

}  // namespace

Socket::Clock::time_point part_of(Socket::Clock::time_point now, Socket::Clock::time_point until,
                                  std::size_t parts) noexcept {
  if (now >= until || parts <= 1) return until;
  return now + (until - now) / static_cast<std::int64_t>(parts);
}

Socket::Socket(const Target& target, Clock::time_point until) : stop_fd_(target.stop_fd) {
  fd_ = target.socket.empty() ? connect_by_name(target, until) : connect_by_path(target, until);
}

std::ptrdiff_t Socket::done(std::ptrdiff_t bytes) noexcept {
  if (bytes >= 0) return bytes;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  error_ = words(errno);
  return -1;
}

std::ptrdiff_t Socket::write(std::string_view bytes) noexcept {
  return done(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::ptrdiff_t Socket::read(char* into, std::size_t size) noexcept {
  const std::ptrdiff_t bytes = ::recv(fd_.get(), into, size, 0);
  if (bytes == 0) {
    error_ = "the server closed it";
    return -1;
  }
  return done(bytes);
}

bool Socket::wait(bool write_too, Clock::time_point until) noexcept {
  const short events = static_cast<short>(write_too ? POLLIN | POLLOUT : POLLIN);
  return poll_until(fd_.get(), events, until, stop_fd_);
}

bool Socket::quiet() const noexcept {
  char one = 0;
  const auto bytes = ::recv(fd_.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
  return bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace semel::redis
