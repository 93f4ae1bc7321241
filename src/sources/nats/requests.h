// Requests: how many messages were asked for and have not come. Pure; not thread-safe.
//
// A consumer that is pulled from sends what it was asked for and nothing else, and a request ends
// when it is filled or too old. The server tells of the end of one that it has not filled; where it
// cannot, because the consumer is gone or has moved to another server, nobody does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/ack_pace.h"

namespace semel::nats {

class Requests {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // So many are asked for, by a request whose end the server tells until then. Yields its number.
  std::uint64_t add(std::size_t messages, TimePoint until);
  // One has come. The server fills its oldest request first.
  void filled();
  // The server says that this one is over. Whatever is unknown is ignored.
  void ended(std::uint64_t number);
  void clear() noexcept { open_.clear(); }

  // How many may still come.
  std::size_t outstanding() const noexcept;
  // One of them should be over, and nobody has said so.
  bool overdue(TimePoint now) const noexcept { return !open_.empty() && now > open_.front().until; }

 private:
  struct Request {
    std::uint64_t number = 0;
    std::size_t messages = 0;
    TimePoint until;
  };
  std::deque<Request> open_;  // the oldest one first
  std::uint64_t last_ = 0;
};

// How many to ask for, where at most `most` may be out of the stream: `open` are not settled and
// `outstanding` asked for. Few are not worth a request while others may come.
std::size_t worth_asking(std::size_t most, std::size_t open, std::size_t outstanding) noexcept;
// Many are asked for at once, few when they have waited for more.
core::AckPace pace_of_asking(std::size_t most) noexcept;

}  // namespace semel::nats
