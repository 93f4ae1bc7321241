// Requests: how many messages were requested and have not arrived. Pure; not thread-safe.
//
// A pull consumer delivers only what was requested, and a request ends when it is filled or too
// old. The server reports the end of a request that it did not fill; where it cannot, because the
// consumer is gone or has moved to another server, there is no report. No message names its
// request, and servers differ in which of several requests they fill first: so the total of
// outstanding messages is known, and each request's part is a guess until its end corrects it.
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

  // Adds a request for `messages`, whose end the server reports by `until`. Returns its number.
  std::uint64_t add(std::size_t messages, TimePoint until);
  // A message arrived. It is attributed to the oldest request.
  void filled();
  // The server reports that this one is over, and how many messages it has not sent for it;
  // nullopt: as guessed. Does nothing if everything that was requested has arrived.
  void ended(std::uint64_t number, std::optional<std::size_t> unfilled);
  void clear() noexcept { open_.clear(); }
  // Forgets requests that should be over without a report.
  void forget_overdue(TimePoint now);

  // How many may still arrive.
  std::size_t outstanding() const noexcept;
  // Whether one of them should be over without a report.
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

// How many to request, where at most `most` may be unacknowledged: `open` are not settled and
// `outstanding` requested. A few are not worth a request while others may come.
std::size_t worth_asking(std::size_t most, std::size_t open, std::size_t outstanding) noexcept;
// Many are requested immediately, a few only after a delay.
core::AckPace pace_of_asking(std::size_t most) noexcept;

}  // namespace semel::nats
