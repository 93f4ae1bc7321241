#include "tests/support/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace semel::test {

namespace {

constexpr timeval kReadPatience{30, 0};

system::Descriptor connected(int family, const sockaddr* to, socklen_t size) {
  system::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kReadPatience, sizeof kReadPatience);
  return ::connect(socket.get(), to, size) == 0 ? std::move(socket) : system::Descriptor();
}

system::Descriptor connected_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

system::Descriptor connected_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::string request_text(std::string_view path, const std::vector<std::string>& headers,
                         std::string_view method) {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nConnection: close\r\n", method, path);
  bool host = false;
  for (const std::string& line : headers) {
    request += line + "\r\n";
    host |= line.starts_with("Host:");
  }
  if (!host) request += "Host: localhost\r\n";
  return request + "\r\n";
}

bool sent(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// The answer; empty where the socket is not valid.
std::string exchanged(const system::Descriptor& socket, std::string_view bytes) {
  if (!socket.valid()) return {};
  // A server may answer before everything was sent: its answer is still read.
  (void)sent(socket.get(), bytes);
  return http_rest(socket);
}

}  // namespace

std::string HttpAnswer::header(std::string_view name) const {
  const std::string begin = fmt::format("\r\n{}: ", name);
  const auto at = head.find(begin);
  if (at == std::string::npos) return "(none)";
  const auto from = at + begin.size();
  return head.substr(from, head.find("\r\n", from) - from);
}

system::Descriptor http_sent(std::uint16_t port, std::string_view bytes) {
  auto socket = connected_to(port);
  if (socket.valid() && !sent(socket.get(), bytes)) return {};
  return socket;
}

std::string http_rest(const system::Descriptor& socket) {
  std::string answer;
  char buffer[4096];
  for (;;) {
    const auto got = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string http_raw(std::uint16_t port, std::string_view bytes) {
  return exchanged(connected_to(port), bytes);
}

HttpAnswer http_get(std::uint16_t port, std::string_view path,
                    const std::vector<std::string>& headers, std::string_view method) {
  return http_answer(http_raw(port, request_text(path, headers, method)));
}

std::string http_raw_at(const std::string& path, std::string_view bytes) {
  return exchanged(connected_at(path), bytes);
}

HttpAnswer http_get_at(const std::string& path, std::string_view target,
                       const std::vector<std::string>& headers, std::string_view method) {
  return http_answer(http_raw_at(path, request_text(target, headers, method)));
}

HttpAnswer http_answer(const std::string& answer) {
  HttpAnswer made;
  const auto end = answer.find("\r\n\r\n");
  if (end == std::string::npos) return made;
  made.head = answer.substr(0, end + 2);
  made.body = answer.substr(end + 4);
  constexpr std::size_t kStatusAt = sizeof "HTTP/1.1";
  std::from_chars(made.head.data() + kStatusAt, made.head.data() + kStatusAt + 3, made.status);
  return made;
}

}  // namespace semel::test
