// Connection: one tap, as the thread of the server sees it. Never waits.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "system/descriptor.h"
#include "tap/subscriber.h"

namespace semel::tap {

// One thread at a time.
class Connection {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `until`: by then the request must have come.
  Connection(system::Descriptor socket, TimePoint until)
      : socket_(std::move(socket)), until_(until) {}

  int fd() const noexcept { return socket_.get(); }
  bool ended() const noexcept { return ended_; }
  const std::shared_ptr<Subscriber>& subscriber() const noexcept { return subscriber_; }
  // Until when the request is waited for; none once it came.
  std::optional<TimePoint> until() const noexcept;
  // What is kept for it can go on only when the other end reads.
  bool blocked() const noexcept { return blocked_; }

  // What the other end said; the request once its line is whole. What comes after the request, or
  // is longer than one may be, ends the connection, and so does the other end's end.
  std::optional<std::string> read();
  // `more`: a line said behind the hello.
  void welcome(std::shared_ptr<Subscriber> subscriber, const Hello& hello,
               const std::string& more = {});
  // Tells why, where there is room for it, and ends.
  void refuse(std::string_view why);
  // Sends what waits, one piece of it; true where there may be more that can be sent.
  bool pump();
  // The last it says, where all else was sent.
  void say_goodbye();

 private:
  void send();

  system::Descriptor socket_;
  TimePoint until_;
  std::string heard_;
  std::shared_ptr<Subscriber> subscriber_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool blocked_ = false;
  bool said_goodbye_ = false;
  bool ended_ = false;
};

// Whether the other end is a process of this user, or of the one who may do everything.
bool is_trusted(int socket) noexcept;

}  // namespace semel::tap
