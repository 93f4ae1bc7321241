#include "tap/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "system/unix_socket.h"

namespace semel::tap {

std::optional<Connection::TimePoint> Connection::until() const noexcept {
  if (subscriber_ != nullptr) return std::nullopt;
  return until_;
}

std::optional<std::string> Connection::read() {
  std::array<char, kLongestRequest> piece{};
  for (;;) {
    const ssize_t n = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    if (n <= 0 || subscriber_ != nullptr) {
      ended_ = true;
      return std::nullopt;
    }
    heard_.append(piece.data(), static_cast<std::size_t>(n));
    const std::size_t end = heard_.find('\n');
    if (end != std::string::npos) return heard_.substr(0, end);
    if (heard_.size() > kLongestRequest) {
      refuse("a request is one line, and not so long");
      return std::nullopt;
    }
  }
}

void Connection::welcome(std::shared_ptr<Subscriber> subscriber, const Hello& hello,
                         const std::string& more) {
  subscriber_ = std::move(subscriber);
  sending_ = line_of(hello) + more;
  sent_ = 0;
}

void Connection::refuse(std::string_view why) {
  const std::string line = line_of(Refusal{std::string(why)});
  (void)::send(socket_.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ended_ = true;
}

bool Connection::pump() {
  if (ended_ || subscriber_ == nullptr) return false;
  if (sent_ == sending_.size()) {
    sending_ = subscriber_->take();
    sent_ = 0;
    if (sending_.empty()) return false;
  }
  send();
  return !ended_ && !blocked_;
}

void Connection::say_goodbye() {
  if (ended_ || subscriber_ == nullptr || said_goodbye_ || sent_ < sending_.size()) return;
  said_goodbye_ = true;
  sending_ = line_of(Goodbye{});
  sent_ = 0;
  send();
}

void Connection::send() {
  blocked_ = false;
  while (sent_ < sending_.size()) {
    const ssize_t n = ::send(socket_.get(), sending_.data() + sent_, sending_.size() - sent_,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      blocked_ = true;
      return;
    } else if (errno != EINTR) {
      ended_ = true;
      return;
    }
  }
}

bool is_trusted(int socket) noexcept {
  const auto peer = system::peer_of(socket);
  return peer && (peer->uid == 0 || peer->uid == ::geteuid());
}

}  // namespace semel::tap
