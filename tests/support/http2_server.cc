#include "tests/support/http2_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "tests/support/server_address.h"

namespace semel::test {

namespace {

enum Type : unsigned char { kData = 0, kHeaders = 1, kSettings = 4, kGoAway = 7 };
constexpr unsigned char kAck = 1;         // a flag of kSettings
constexpr unsigned char kEndStream = 1;   // of kData and kHeaders
constexpr unsigned char kEndHeaders = 4;  // of kHeaders
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kHead = 9;
constexpr std::string_view kStatus200 = "\x88";  // as HPACK writes it

std::string big_endian(std::uint32_t number, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(number >> (8 * bytes) & 0xFFU);
  return text;
}

std::uint32_t number_of(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes) number = number << 8U | static_cast<unsigned char>(c);
  return number;
}

std::string frame(Type type, unsigned char flags, std::uint32_t stream, std::string_view payload) {
  return big_endian(static_cast<std::uint32_t>(payload.size()), 3)
      .append({static_cast<char>(type), static_cast<char>(flags)})
      .append(big_endian(stream, 4))
      .append(payload);
}

bool write_all(TlsSession& tls, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t gone = tls.write(bytes.data(), bytes.size());
    if (gone <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(gone));
  }
  return true;
}

// False: the connection ended before.
bool read_until(TlsSession& tls, std::string& in, std::size_t size) {
  char piece[4'096];
  while (in.size() < size) {
    const ssize_t got = tls.read(piece, sizeof piece);
    if (got <= 0) return false;
    in.append(piece, static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

std::string http2_answer(std::uint32_t stream) {
  return frame(kHeaders, kEndStream | kEndHeaders, stream, kStatus200);
}

std::string http2_go_away(std::uint32_t last) {
  return frame(kGoAway, 0, 0, big_endian(last, 4) + big_endian(0, 4));
}

Http2Server::Http2Server(Script script) : script_(std::move(script)) {
  OwnListener own = own_listener();
  listener_ = std::move(own.fd);
  port_ = own.port;
  thread_ = std::thread([this] { accept_all(); });
}

Http2Server::~Http2Server() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  stop_listening();
  thread_.join();
  for (std::thread& thread : threads_) thread.join();
}

std::string Http2Server::url() const { return fmt::format("https://127.0.0.1:{}/send", port_); }

void Http2Server::stop_listening() noexcept { ::shutdown(listener_.get(), SHUT_RDWR); }

std::size_t Http2Server::connections() const {
  std::lock_guard lock(mutex_);
  return connections_;
}

std::vector<Http2Request> Http2Server::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void Http2Server::accept_all() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    std::lock_guard lock(mutex_);
    open_.push_back(fd);
    if (ending_) ::shutdown(fd, SHUT_RDWR);
    threads_.emplace_back([this, fd, number = connections_++] { serve(fd, number); });
  }
}

void Http2Server::serve(int fd, std::size_t connection) {
  {
    const auto tls = identity_.accept(fd);
    std::map<std::uint32_t, std::string> bodies;
    std::string in;
    bool open =
        read_until(*tls, in, kPreface.size()) && write_all(*tls, frame(kSettings, 0, 0, ""));
    in.erase(0, kPreface.size());
    while (open && read_until(*tls, in, kHead)) {
      const std::size_t size = number_of(std::string_view(in).substr(0, 3));
      if (!read_until(*tls, in, kHead + size)) break;
      const auto type = static_cast<unsigned char>(in[3]);
      const auto flags = static_cast<unsigned char>(in[4]);
      const std::uint32_t stream = number_of(std::string_view(in).substr(5, 4));
      if (type == kData) bodies[stream].append(in, kHead, size);
      in.erase(0, kHead + size);
      Http2Reply reply;
      if (type == kSettings && (flags & kAck) == 0) reply.frames = frame(kSettings, kAck, 0, "");
      if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0) {
        reply = reply_to({connection, stream, std::move(bodies[stream])});
      }
      open = write_all(*tls, reply.frames) && !reply.closes;
    }
  }
  std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

Http2Reply Http2Server::reply_to(Http2Request request) {
  std::lock_guard lock(mutex_);
  Http2Reply reply = script_(request);
  requests_.push_back(std::move(request));
  return reply;
}

}  // namespace semel::test
