#include "benchmarks/http_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "benchmarks/http_answer.h"
#include "benchmarks/measure.h"
#include "system/descriptor.h"

namespace semel::bench {
namespace {

constexpr int kLongestWait = 60'000;  // milliseconds

system::Descriptor open_connection(std::uint16_t port) {
  system::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up(std::string("a sender cannot connect: ") + std::strerror(errno));
  }
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

class Sender {
 public:
  explicit Sender(std::uint16_t port) : socket_(open_connection(port)) {}

  int descriptor() const noexcept { return socket_.get(); }

  void send(const std::string& payload) {
    const std::string text = fmt::format(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        payload.size(), payload);
    watch_ = Stopwatch();
    if (::send(descriptor(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
      give_up("a sender cannot send");
    }
  }

  // Whether the answer is whole.
  bool take_answer() {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(descriptor(), buffer.data(), buffer.size(), 0);
    if (got <= 0) give_up("a sender's connection was closed");
    read_.append(buffer.data(), static_cast<std::size_t>(got));
    const auto complaint = [&] { return fmt::format("a sender was answered: {}", read_); };
    if (!whole_body(read_, complaint)) return false;
    read_.clear();
    return true;
  }

  double seconds() const { return watch_.seconds(); }

 private:
  system::Descriptor socket_;
  std::string read_;
  Stopwatch watch_;  // since its request
};

}  // namespace

HttpLoad send_over_http(std::uint16_t port, const std::vector<std::string>& payloads,
                        std::size_t connections) {
  const system::Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Sender> senders;
  senders.reserve(connections);
  for (std::size_t i = 0; i < std::min(connections, payloads.size()); ++i) {
    senders.emplace_back(port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, senders.back().descriptor(), &event) != 0) {
      give_up("a sender cannot be waited for");
    }
  }
  HttpLoad load;
  load.latencies.reserve(payloads.size());
  std::size_t next = 0;
  const Stopwatch watch;
  for (Sender& sender : senders) sender.send(payloads[next++]);
  std::vector<epoll_event> events(connections);
  while (load.latencies.size() < payloads.size()) {
    const int ready =
        ::epoll_wait(poll.get(), events.data(), static_cast<int>(events.size()), kLongestWait);
    if (ready == 0) give_up("nobody answers the senders");
    // After the last answer the server may be gone: the connections that are left end.
    for (int i = 0; i < ready && load.latencies.size() < payloads.size(); ++i) {
      Sender& sender = senders[events[static_cast<std::size_t>(i)].data.u64];
      if (!sender.take_answer()) continue;
      load.latencies.push_back(sender.seconds());
      if (next < payloads.size()) sender.send(payloads[next++]);
    }
  }
  load.seconds = watch.seconds();
  return load;
}

}  // namespace semel::bench
