#include "benchmarks/admin_clients.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/http_answer.h"
#include "benchmarks/measure.h"
#include "system/descriptor.h"

namespace semel::bench {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kBetween{1};
constexpr int kAnswerPatience = 30'000;  // milliseconds
// Browsers and Prometheus ask for these. The API answers a caller some fifty times a
// second.
constexpr const char* kPaths[] = {"/metrics", "/api/v1/consumers"};

std::string request_for(const char* path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
}

struct Connection {
  system::Descriptor socket;
  std::string read;
  steady_clock::time_point due{};
  bool waits = false;
};

system::Descriptor connect_to(std::uint16_t port) {
  system::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up(std::string("a client cannot connect: ") + std::strerror(errno));
  }
  return socket;
}

void send_request(Connection& connection, const char* path) {
  const std::string text = request_for(path);
  if (::send(connection.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size())) {
    give_up("a client cannot ask");
  }
  connection.waits = true;
}

// Whether the answer is whole. Gives up where it is no good one.
bool take_answer(Connection& connection) {
  char buffer[1 << 14];
  const ssize_t got = ::recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (got <= 0) give_up("a connection of a client was closed");
  connection.read.append(buffer, static_cast<std::size_t>(got));
  const auto complaint = [&] {
    return "a client was answered: " + connection.read.substr(0, connection.read.find('\r'));
  };
  if (!whole_body(connection.read, complaint)) return false;
  connection.read.clear();
  connection.waits = false;
  return true;
}

}  // namespace

struct AdminClients::Parts {
  std::vector<Connection> connections;  // the busy ones first
  std::size_t busy = 0;
  std::atomic<std::size_t> answered{0};
  std::atomic<bool> ending{false};
  std::thread thread;

  void work();
  void ask_those_due();
};

void AdminClients::Parts::ask_those_due() {
  const auto now = steady_clock::now();
  for (std::size_t i = 0; i < busy; ++i) {
    Connection& one = connections[i];
    if (one.waits || now < one.due) continue;
    send_request(one, kPaths[i % std::size(kPaths)]);
    one.due += kBetween;
  }
}

void AdminClients::Parts::work() {
  constexpr int kStep = 5;  // milliseconds
  std::vector<pollfd> readable;
  while (!ending) {
    ask_those_due();
    readable.clear();
    // An idle one becomes readable when the listener closes it.
    for (const Connection& one : connections) readable.push_back({one.socket.get(), POLLIN, 0});
    if (::poll(readable.data(), readable.size(), kStep) <= 0) continue;
    for (std::size_t i = 0; i < readable.size(); ++i) {
      if (readable[i].revents != 0 && take_answer(connections[i])) ++answered;
    }
  }
}

AdminClients::AdminClients(std::uint16_t port, std::size_t idle, std::size_t busy)
    : parts_(std::make_unique<Parts>()) {
  parts_->busy = busy;
  const auto begin = steady_clock::now();
  for (std::size_t i = 0; i < busy + idle; ++i) {
    Connection one;
    one.socket = connect_to(port);
    send_request(one, "/livez");
    pollfd readable{one.socket.get(), POLLIN, 0};
    do {
      if (::poll(&readable, 1, kAnswerPatience) != 1) give_up("a client was not answered");
    } while (!take_answer(one));
    // All of them spread over the time between two questions.
    one.due = begin + kBetween * i / (busy == 0 ? 1 : busy);
    parts_->connections.push_back(std::move(one));
  }
  parts_->thread = std::thread([this] { parts_->work(); });
}

AdminClients::~AdminClients() {
  parts_->ending = true;
  parts_->thread.join();
}

std::size_t AdminClients::answered() const noexcept { return parts_->answered; }

}  // namespace semel::bench
