// Requests: how many messages were asked for and have not come. Pure; not thread-safe.
//
// A consumer that is pulled from sends what it was asked for and nothing else, and a request ends
// when it is filled or too old. The server tells of the end of one that it has not filled; where it
// cannot, because the consumer is gone or has moved to another server, nobody does. No message says
// by which request it came, and servers differ in which of several they fill first: the sum of what
// may still come is known, each request's part is a guess until its end corrects it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/ack_pace.h"

namespace semel::nats {

class Requests {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // So many are asked for, by a request whose end the server tells until then. Yields its number.
  std::uint64_t add(std::size_t messages, TimePoint until);
  // One has come. It is taken for the oldest request's.
  void filled();
  // The server says that this one is over, and how many it has not sent for it; none: what was
  // guessed. Nothing happens where all that was asked for has come.
  void ended(std::uint64_t number, std::optional<std::size_t> unfilled);
  void clear() noexcept { open_.clear(); }
  // Forgets requests that should be over, and whose end nobody has told.
  void forget_overdue(TimePoint now);

  // How many may still come.
  std::size_t outstanding() const noexcept;
  // One of them should be over, and nobody has said so.
  bool overdue(TimePoint now) const noexcept { return !open_.empty() && now > open_.front().until; }

 private:
  void remove(std::size_t messages);

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
