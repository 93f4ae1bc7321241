#include "stores/postgres/test_fake_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

namespace semel::postgres {
namespace {

std::string number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFFU);
  return text;
}

std::string small_number(std::uint16_t value) { return number(value).substr(2); }

std::string message(char type, const std::string& body) {
  return type + number(static_cast<std::uint32_t>(body.size() + 4)) + body;
}

std::string text(std::string_view value) { return std::string(value) + '\0'; }

// nullopt where the client is gone, or the server ends.
std::optional<std::string> receive(int client, int ending, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    std::array<pollfd, 2> waiting = {{{client, POLLIN, 0}, {ending, POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) return std::nullopt;
    std::string piece(size - bytes.size(), '\0');
    const ssize_t got = ::read(client, piece.data(), piece.size());
    if (got <= 0) return std::nullopt;
    bytes.append(piece, 0, static_cast<std::size_t>(got));
  }
  return bytes;
}

std::optional<std::string> receive_body(int client, int ending) {
  const auto length = receive(client, ending, 4);
  if (!length) return std::nullopt;
  std::uint32_t size = 0;
  for (const char c : *length) size = size << 8U | static_cast<unsigned char>(c);
  return receive(client, ending, size - 4);
}

void send_bytes(int client, const std::string& bytes) {
  [[maybe_unused]] const auto n = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace

std::string FakeServer::error(std::string_view severity, std::string_view state,
                              std::string_view words) {
  return message('E', 'S' + text(severity) + 'V' + text(severity) + 'C' + text(state) + 'M' +
                          text(words) + 'F' + text("auth.c") + 'L' + text("1") + 'R' +
                          text("auth_failed") + '\0');
}

std::string FakeServer::ready(char status) { return message('Z', std::string(1, status)); }

std::string FakeServer::row(std::string_view value) {
  constexpr std::uint32_t kText = 25;
  const std::string column = text("value") + number(0) + small_number(0) + number(kText) +
                             small_number(0xFFFF) + number(0xFFFFFFFF) + small_number(0);
  return message('T', small_number(1) + column) +
         message('D', small_number(1) + number(static_cast<std::uint32_t>(value.size())) +
                          std::string(value));
}

std::string FakeServer::done() { return message('C', text("SET")); }

std::string FakeServer::parsed() { return message('1', ""); }

std::string FakeServer::bound() { return message('2', "") + message('n', ""); }

std::string FakeServer::welcome(int session) {
  return message('R', number(0)) + message('S', text("server_version") + text("15.1")) +
         message('S', text("client_encoding") + text("UTF8")) +
         message('S', text("server_encoding") + text("UTF8")) +
         message('K', number(static_cast<std::uint32_t>(session)) + number(1)) + ready();
}

FakeServer::FakeServer(Script script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), any, &size) != 0) {
    throw std::runtime_error("no port of 127.0.0.1 is free");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { listen(); });
}

FakeServer::~FakeServer() { ending_.signal(); }

std::string FakeServer::url() const {
  return fmt::format("postgresql://ann:wrong@127.0.0.1:{}/bank?sslmode=disable&gssencmode=disable",
                     port_);
}

void FakeServer::listen() {
  for (;;) {
    std::array<pollfd, 2> waiting = {{{listener_.get(), POLLIN, 0}, {ending_.get(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) return;
    system::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    clients_.emplace_back([this, one = std::move(client)]() mutable { serve(std::move(one)); });
  }
}

void FakeServer::serve(system::Descriptor client) const {
  if (!receive_body(client.get(), ending_.get())) return;
  send_bytes(client.get(), script_.hello);
  while (const auto type = receive(client.get(), ending_.get(), 1)) {
    const auto body = receive_body(client.get(), ending_.get());
    if (!body || *type == "X") return;
    if (*type == "S") send_bytes(client.get(), script_.pipeline);
    if (*type != "Q") continue;
    if (!script_.answer) return;
    send_bytes(client.get(), script_.answer(*body));
  }
}

}  // namespace semel::postgres
