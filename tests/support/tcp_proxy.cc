#include "tests/support/tcp_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tests/support/server_address.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using system::Descriptor;

constexpr std::chrono::seconds kFaultPatience{30};
constexpr std::size_t kRelayedPiece = 64 << 10;

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

struct TcpProxy::Armed {
  Fault fault;
  FaultId id = 0;
  std::size_t fired = 0;
  bool cleared = false;
};

// One side of a connection.
struct TcpProxy::End {
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };

  Descriptor fd;
  std::deque<Piece> out;   // to be written to it
  bool out_ends = false;   // and then no more
  bool shut = false;       // which it was told
  bool in_ended = false;   // it says no more
  std::size_t said = 0;    // bytes
  std::string heard_last;  // the end of them, in which a text may have begun
};

struct TcpProxy::Connection {
  End client;
  End server;
  std::optional<Fault> fault;  // that struck it
  std::optional<Clock::time_point> cut_at;
  std::string answer;     // the withheld data
  bool asks = false;      // the client has sent something, and has got no answer yet
  std::string held_back;  // while it stalls: the rest of the data that triggered it
  bool gone = false;

  End& end(Side side) { return side == Side::kClient ? client : server; }
  End& beyond(Side side) { return side == Side::kClient ? server : client; }
  bool stalls() const { return fault && fault->then == Then::kStall; }
};

TcpProxy::TcpProxy(int port) : TcpProxy(port, {}) {}

TcpProxy::TcpProxy(std::string socket) : TcpProxy(0, std::move(socket)) {}

TcpProxy::TcpProxy(int server_port, std::string socket)
    : server_port_(server_port), server_socket_(std::move(socket)) {
  OwnListener own = own_listener(SOCK_NONBLOCK);
  listener_ = std::move(own.fd);
  port_ = own.port;
  thread_ = std::thread([this] { serve(); });
}

TcpProxy::~TcpProxy() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
}

void TcpProxy::wake() { wake_.signal(); }

void TcpProxy::listen() {
  if (Descriptor fd = listener_at(port_, SOCK_NONBLOCK); fd.valid()) listener_ = std::move(fd);
}

Descriptor TcpProxy::connect_to_server() const {
  const bool local = !server_socket_.empty();
  Descriptor fd(::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int failed = 0;
  if (local) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    server_socket_.copy(address.sun_path, sizeof address.sun_path - 1);
    failed = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } else {
    const auto address = loopback(server_port_);
    failed = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    send_at_once(fd.get());
  }
  if (failed != 0) fd.close();
  return fd;
}

TcpProxy::FaultId TcpProxy::inject(Fault fault) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back({.fault = std::move(fault), .id = faults_.size()});
  return faults_.back().id;
}

void TcpProxy::clear() {
  {
    const std::scoped_lock lock(mutex_);
    for (Armed& armed : faults_) armed.cleared = true;
    for (Connection& connection : open_) {
      if (!connection.stalls()) continue;
      connection.beyond(connection.fault->heard).out.push_back({{}, connection.held_back});
      connection.fault.reset();
    }
  }
  wake();
}

std::size_t TcpProxy::fired(FaultId fault) const {
  const std::scoped_lock lock(mutex_);
  return faults_.at(fault).fired;
}

bool TcpProxy::wait_fired(FaultId fault, std::size_t times) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kFaultPatience, [&] { return faults_.at(fault).fired >= times; });
}

void TcpProxy::delay(milliseconds by) {
  const std::scoped_lock lock(mutex_);
  delay_ = by;
}

void TcpProxy::refuse(bool refuses) {
  {
    const std::scoped_lock lock(mutex_);
    if (refuses) {
      listener_.close();
    } else if (!listener_.valid()) {
      listen();
      if (!listener_.valid()) throw std::runtime_error("the proxy's port was taken");
    }
  }
  wake();
}

void TcpProxy::cut_all() {
  {
    const std::scoped_lock lock(mutex_);
    for (Connection& connection : open_) cut(connection, true);
  }
  wake();
}

std::size_t TcpProxy::round_trips() const {
  const std::scoped_lock lock(mutex_);
  return round_trips_;
}

std::size_t TcpProxy::connections() const {
  const std::scoped_lock lock(mutex_);
  return connections_;
}

std::size_t TcpProxy::refusals() const {
  const std::scoped_lock lock(mutex_);
  return refusals_;
}

void TcpProxy::cut(Connection& connection, bool reset) {
  if (connection.gone) return;
  connection.gone = true;
  if (reset) {
    const linger hard{1, 0};
    ::setsockopt(connection.client.fd.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  connection.client.fd.close();
  connection.server.fd.close();
}

void TcpProxy::accept_one() {
  if (!listener_.valid()) return;
  Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.valid()) return;
  send_at_once(client.get());
  Descriptor server = connect_to_server();
  Connection& made = open_.emplace_back();
  made.client.fd = std::move(client);
  made.server.fd = std::move(server);
  if (made.server.fd.valid()) {
    ++connections_;
  } else {
    ++refusals_;
    cut(made, true);
  }
}

void TcpProxy::read_from(Connection& connection, Side side) {
  std::array<char, kRelayedPiece> piece{};
  End& end = connection.end(side);
  const ssize_t got = ::recv(end.fd.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (got > 0) {
    hear(connection, side, {piece.data(), static_cast<std::size_t>(got)});
  } else if (got == 0) {
    end.in_ended = true;
    connection.beyond(side).out_ends = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    cut(connection, true);
  }
}

void TcpProxy::hear(Connection& connection, Side side, std::string_view bytes) {
  if (std::exchange(connection.asks, side == Side::kClient) && side == Side::kServer) {
    ++round_trips_;
  }
  if (!passes(connection, side, bytes)) return;
  End& end = connection.end(side);
  const std::size_t before = end.said;
  const std::string all = end.heard_last + std::string(bytes);
  end.said += bytes.size();
  std::size_t longest = 0;
  for (Armed& armed : faults_) {
    const Fault& fault = armed.fault;
    if (armed.cleared || fault.heard != side) continue;
    longest = std::max(longest, fault.text.size());
    if (armed.fired >= fault.times || connection.fault) continue;
    if (!fault.text.empty()) {
      const auto at = all.find(fault.text);
      if (at == std::string::npos) continue;
      const auto begin = at - std::min(at, end.heard_last.size());
      strike(connection, armed, bytes, fault.then == Then::kLose ? begin : bytes.size());
      return;
    }
    const bool now = before <= fault.bytes && fault.bytes <= end.said;
    if (!now || (before == fault.bytes && before > 0)) continue;
    const bool whole = fault.then == Then::kWithhold;
    strike(connection, armed, bytes, whole ? bytes.size() : fault.bytes - before);
    return;
  }
  end.heard_last = all.substr(all.size() - std::min(all.size(), longest > 0 ? longest - 1 : 0));
  connection.beyond(side).out.push_back({Clock::now() + delay_, std::string(bytes)});
}

// Forwards the first `kept` bytes of the received ones.
void TcpProxy::strike(Connection& connection, Armed& armed, std::string_view bytes,
                      std::size_t kept) {
  connection.fault = armed.fault;
  if (kept > 0) {
    connection.beyond(armed.fault.heard)
        .out.push_back({Clock::now() + delay_, std::string(bytes.substr(0, kept))});
  }
  connection.held_back = bytes.substr(kept);
  const bool cuts = armed.fault.then == Then::kLose || armed.fault.then == Then::kCut;
  if (cuts) connection.cut_at = Clock::now() + armed.fault.wait;
  ++armed.fired;
  changed_.notify_all();
}

// Whether data from this side are still forwarded to the other.
bool TcpProxy::passes(Connection& connection, Side side, std::string_view bytes) {
  if (!connection.fault) return true;
  const Fault& fault = *connection.fault;
  if (fault.then != Then::kWithhold) return false;
  if (fault.heard == side) return true;
  connection.answer += bytes;
  if (!connection.cut_at && connection.answer.find(fault.answer) != std::string::npos) {
    connection.cut_at = Clock::now() + fault.wait;
  }
  return false;
}

void TcpProxy::write_to(End& end) {
  while (!end.out.empty() && end.out.front().due <= Clock::now()) {
    std::string& bytes = end.out.front().bytes;
    const ssize_t gone =
        ::send(end.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0) {
      // A peer that does not listen any more is cut off when it is read from.
      if (errno != EAGAIN && errno != EINTR) end.out.clear();
      return;
    }
    bytes.erase(0, static_cast<std::size_t>(gone));
    if (bytes.empty()) end.out.pop_front();
  }
  if (end.out.empty() && end.out_ends && !end.shut) {
    end.shut = true;
    ::shutdown(end.fd.get(), SHUT_WR);
  }
}

// Does what is due, and returns the time at which it must run again without an event.
TcpProxy::Clock::time_point TcpProxy::work_on(Connection& connection) {
  auto next = Clock::time_point::max();
  if (connection.gone) return next;
  for (End* end : {&connection.client, &connection.server}) {
    write_to(*end);
    // Due data that are not sent wait for the peer to read.
    if (!end->out.empty() && end->out.front().due > Clock::now()) {
      next = std::min(next, end->out.front().due);
    }
  }
  const bool written = connection.client.out.empty() && connection.server.out.empty();
  if (connection.cut_at && written) {
    if (*connection.cut_at <= Clock::now()) {
      cut(connection, connection.fault->reset);
      return next;
    }
    next = std::min(next, *connection.cut_at);
  }
  if (connection.client.shut && connection.server.shut) cut(connection, false);
  return next;
}

void TcpProxy::wait_for_events(std::unique_lock<std::mutex>& lock) {
  std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  std::vector<std::pair<Connection*, Side>> ends;
  auto next = Clock::time_point::max();
  for (Connection& connection : open_) {
    next = std::min(next, work_on(connection));
    if (connection.gone) continue;
    for (const Side side : {Side::kClient, Side::kServer}) {
      const End& end = connection.end(side);
      const bool due = !end.out.empty() && end.out.front().due <= Clock::now();
      const bool reads = !end.in_ended && !connection.stalls();
      if (!due && !reads) continue;  // a closed peer would be reported again and again
      fds.push_back(
          {end.fd.get(), static_cast<short>((reads ? POLLIN : 0) | (due ? POLLOUT : 0)), 0});
      ends.emplace_back(&connection, side);
    }
  }
  open_.remove_if([](const Connection& connection) { return connection.gone; });
  int patience = -1;
  if (next != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    patience = static_cast<int>(std::max<std::int64_t>(left, 0));
  }
  lock.unlock();
  ::poll(fds.data(), fds.size(), patience);
  lock.lock();
  wake_.drain();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto [connection, side] = ends[i];
    if (connection->gone || (fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    if (!connection->end(side).in_ended && !connection->stalls()) read_from(*connection, side);
  }
  if ((fds[0].revents & POLLIN) != 0) accept_one();
}

void TcpProxy::serve() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!ending_) wait_for_events(lock);
}

}  // namespace semel::test
