#include "tests/support/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>

#include "tests/support/server_address.h"

namespace semel::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kRequestPatience{30};
constexpr std::size_t kPiece = 64 << 10;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return lower;
}

// Parses the head of a request, without its last blank line.
HttpRequest parse_head(std::string_view head) {
  HttpRequest request;
  for (bool first = true; !head.empty(); first = false) {
    const auto end = std::min(head.find("\r\n"), head.size());
    const auto line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (first) {
      const auto blank = line.find(' ');
      request.method = line.substr(0, blank);
      request.target = line.substr(blank + 1, line.rfind(' ') - blank - 1);
      continue;
    }
    const auto colon = line.find(':');
    auto value = line.substr(std::min(colon + 1, line.size()));
    while (value.starts_with(' ')) value.remove_prefix(1);
    request.headers.emplace_back(lower_case(line.substr(0, colon)), value);
  }
  return request;
}

}  // namespace

struct HttpServer::Connection {
  int fd = -1;
  std::unique_ptr<TlsSession> tls;
  std::size_t number = 0;
  std::string in;
  std::optional<HttpReply> out;
  std::size_t sent = 0;
  steady_clock::time_point next;
  bool hangs = false;
  bool gone = false;

  bool due(std::size_t requests) const {
    return out && !hangs && requests >= out->after_requests && steady_clock::now() >= next;
  }
};

std::string HttpRequest::header(std::string_view name) const {
  std::string all;
  bool any = false;
  for (const auto& [known, value] : headers) {
    if (known != name) continue;
    all += (any ? "|" : "") + value;
    any = true;
  }
  return any ? all : "(none)";
}

HttpReply reply(int status, std::string_view body, std::string_view headers) {
  return {.bytes = fmt::format("HTTP/1.1 {} Said\r\nContent-Length: {}\r\n{}\r\n{}", status,
                               body.size(), headers, body)};
}

HttpReply raw(std::string bytes, HttpReply::Then then) {
  return {.bytes = std::move(bytes), .then = then};
}

HttpServer::HttpServer(const TlsIdentity* identity) : identity_(identity) {
  OwnListener own = own_listener(SOCK_NONBLOCK);
  listener_ = std::move(own.fd);
  port_ = own.port;
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
  for (Connection& connection : open_) close(connection, false);
  ::close(wake_);
}

void HttpServer::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void HttpServer::release() {
  {
    std::lock_guard lock(mutex_);
    released_ = true;
  }
  wake();
}

void HttpServer::on(std::string path, Script script) {
  std::lock_guard lock(mutex_);
  scripts_[std::move(path)] = std::move(script);
}

void HttpServer::on(std::string path, HttpReply always) {
  on(std::move(path),
     [always = std::move(always)](const HttpRequest&, std::size_t) { return always; });
}

void HttpServer::greet(HttpReply greeting) {
  std::lock_guard lock(mutex_);
  greeting_ = std::move(greeting);
  greets_ = true;
}

std::string HttpServer::url(std::string_view path) const {
  return fmt::format("{}://127.0.0.1:{}{}", identity_ == nullptr ? "http" : "https", port_, path);
}

std::vector<HttpRequest> HttpServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t HttpServer::connections() const {
  std::lock_guard lock(mutex_);
  return connections_;
}

std::size_t HttpServer::closed_by_peer() const {
  std::lock_guard lock(mutex_);
  return closed_by_peer_;
}

bool HttpServer::wait_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kRequestPatience, [&] { return requests_.size() >= count; });
}

bool HttpServer::wait_closed_by_peer(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kRequestPatience, [&] { return closed_by_peer_ >= count; });
}

void HttpServer::close(Connection& connection, bool reset) {
  if (connection.gone) return;
  connection.gone = true;
  if (reset) {
    const linger hard{1, 0};
    ::setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  connection.tls.reset();
  ::close(connection.fd);
}

void HttpServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Connection& made = open_.emplace_back();
    made.fd = fd;
    if (identity_ != nullptr) made.tls = identity_->accept(fd);
    std::lock_guard lock(mutex_);
    made.number = connections_++;
    if (greets_) made.out = greeting_;
  }
}

HttpReply HttpServer::reply_to(const HttpRequest& request) {
  const std::size_t times = times_[request.target]++;
  Script script;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    const auto found = scripts_.find(request.target);
    if (found != scripts_.end()) script = found->second;
  }
  changed_.notify_all();
  return script ? script(request, times) : reply(200);
}

// Whether a whole one was there.
bool HttpServer::take_request(Connection& connection) {
  const auto end = connection.in.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  HttpRequest request = parse_head(std::string_view(connection.in).substr(0, end));
  const std::string length = request.header("content-length");
  const std::size_t size = length == "(none)" ? 0 : std::stoul(length);
  if (connection.in.size() < end + 4 + size) return false;
  request.body = connection.in.substr(end + 4, size);
  request.connection = connection.number;
  connection.in.erase(0, end + 4 + size);
  connection.out = reply_to(request);
  connection.sent = 0;
  return true;
}

void HttpServer::read_from(Connection& connection) {
  char piece[kPiece];
  for (;;) {
    const ssize_t got = connection.tls ? connection.tls->read(piece, sizeof piece)
                                       : ::recv(connection.fd, piece, sizeof piece, 0);
    if (got > 0) {
      connection.in.append(piece, static_cast<std::size_t>(got));
      continue;
    }
    if (got < 0 && errno == EAGAIN) break;
    close(connection, false);
    std::lock_guard lock(mutex_);
    ++closed_by_peer_;
    changed_.notify_all();
    return;
  }
  if (!connection.out) take_request(connection);
}

void HttpServer::write_to(Connection& connection) {
  const HttpReply& out = *connection.out;
  const std::size_t whole = out.bytes.size() + out.filler;
  while (connection.sent < whole) {
    std::string filler;
    std::string_view piece(out.bytes);
    if (connection.sent < piece.size()) {
      piece.remove_prefix(connection.sent);
    } else {
      filler.assign(std::min(kPiece, whole - connection.sent), 'x');
      piece = filler;
    }
    if (out.every.count() > 0) piece = piece.substr(0, 1);
    const ssize_t gone = connection.tls
                             ? connection.tls->write(piece.data(), piece.size())
                             : ::send(connection.fd, piece.data(), piece.size(), MSG_NOSIGNAL);
    if (gone < 0) {
      if (errno != EAGAIN) close(connection, false);
      return;
    }
    connection.sent += static_cast<std::size_t>(gone);
    if (out.every.count() > 0) {
      connection.next = steady_clock::now() + out.every;
      return;
    }
  }
  switch (out.then) {
    case HttpReply::Then::kKeep:
      connection.out.reset();
      take_request(connection);
      break;
    case HttpReply::Then::kClose:
    case HttpReply::Then::kReset:
      close(connection, out.then == HttpReply::Then::kReset);
      break;
    case HttpReply::Then::kHang:
      connection.hangs = true;
      break;
  }
}

// Until a slow answer's next byte; else for ever.
int HttpServer::poll_timeout() const {
  int shortest = -1;
  for (const Connection& connection : open_) {
    if (!connection.out || connection.hangs || connection.out->every.count() == 0) continue;
    const auto left =
        std::chrono::ceil<milliseconds>(connection.next - steady_clock::now()).count();
    const int wait = static_cast<int>(std::max<std::int64_t>(left, 0));
    shortest = shortest < 0 ? wait : std::min(shortest, wait);
  }
  return shortest;
}

void HttpServer::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    std::size_t seen = 0;
    {
      std::lock_guard lock(mutex_);
      if (ending_) return;
      seen = released_ ? SIZE_MAX : requests_.size();
    }
    std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}, {wake_, POLLIN, 0}};
    for (const Connection& connection : open_) {
      const bool writes = connection.due(seen);
      fds.push_back({connection.fd, static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
    ::poll(fds.data(), fds.size(), poll_timeout());
    std::uint64_t wakes = 0;
    [[maybe_unused]] const auto got = ::read(wake_, &wakes, sizeof wakes);
    std::size_t i = 2;
    for (Connection& connection : open_) {
      const short events = fds[i++].revents;
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
      if (!connection.gone && (events & POLLOUT) != 0 && connection.out) write_to(connection);
    }
    open_.remove_if([](const Connection& connection) { return connection.gone; });
    if ((fds[0].revents & POLLIN) != 0) accept_all();
  }
}

}  // namespace semel::test
