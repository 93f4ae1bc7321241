// Connection: one tap, from the view of the server's thread. Never waits.
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

  // `until`: the deadline for the request.
  Connection(system::Descriptor socket, TimePoint until)
      : socket_(std::move(socket)), until_(until) {}

  int fd() const noexcept { return socket_.get(); }
  bool ended() const noexcept { return ended_; }
  const std::shared_ptr<Subscriber>& subscriber() const noexcept { return subscriber_; }
  // Deadline for the request; nullopt once it has arrived.
  std::optional<TimePoint> until() const noexcept;
  // Data for it can be sent only when the other end reads.
  bool blocked() const noexcept { return blocked_; }

  // Reads from the other end; returns the request once its line is complete. Data after the
  // request, a line that is too long, and the other end's closing end the connection.
  std::optional<std::string> read();
  // `more`: a line sent after the hello.
  void welcome(std::shared_ptr<Subscriber> subscriber, const Hello& hello,
               const std::string& more = {});
  // Tells why, where there is room for it, and ends.
  void refuse(std::string_view why);
  // Sends one piece of the waiting data; true where more may be sendable.
  bool pump();
  // Sends the final line, once everything else was sent.
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

// Whether the other end is a process of this user, or of root.
bool is_trusted(int socket) noexcept;

}  // namespace semel::tap
