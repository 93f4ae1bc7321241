// Breaker: from the answers of an endpoint, when its gate is shut, for how long, and when it opens;
// and whether a failure says anything about its message.
//
// Pure, and knows no time: it counts calls. An answer to a call that was begun before the gate was
// last shut tells nothing new, so hundreds of calls that fail together shut it once.
//
// A message that uses up its tries is evidence against the endpoint once, until it goes well: a few
// that the endpoint can never take do not shut the gate, and come to their end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace semel::core {

class Breaker {
 public:
  // The number of a call, in the order they begin.
  using Ticket = std::uint64_t;
  // Tells messages apart: a digest of the key.
  using MessageId = std::uint64_t;

  struct Options {
    // In a row, that shut the gate, as do three quarters of twice as many of the last answers. So
    // many that an endpoint which fails now and then, under many calls at a time, is not left alone
    // for it.
    int failures = 10;
    std::chrono::milliseconds first{1'000};
    std::chrono::milliseconds longest{300'000};  // each shutting is twice the last, up to this
  };

  // The consequences of a failed call.
  struct Failure {
    std::optional<std::chrono::milliseconds> shut;  // for how long the gate is to be shut
    // Most messages fail, so that this failure says nothing about its own; it is to come again
    // after those that wait at the gate.
    bool shared = false;
    std::chrono::milliseconds again_after{0};
    bool late = false;  // the call was begun before the gate was last shut
  };

  Breaker() = default;
  explicit Breaker(Options options) noexcept : options_(options) {}

  Ticket begin() noexcept { return next_++; }

  // The endpoint failed, which one call may meet by chance. `counts`: it uses up a try of
  // `message`, unless it is shared.
  Failure failed(Ticket call, MessageId message, bool counts);
  // The endpoint itself is at fault, so that every call would fail. How long to shut the gate, or
  // nothing.
  std::optional<std::chrono::milliseconds> at_fault(Ticket call) noexcept;
  // It asked to be left alone for a while: that long, within bounds.
  std::chrono::milliseconds asked_to_wait(std::chrono::milliseconds wait) noexcept;
  // It works. Whether to open the gate.
  bool answered(Ticket call, MessageId message = 0) noexcept;

 private:
  bool stale(Ticket call) const noexcept { return call < news_from_; }
  std::chrono::milliseconds shut() noexcept;
  bool mostly_failed() const noexcept;
  bool all_fail() const noexcept { return messages_ >= options_.failures || mostly_failed(); }
  bool is_evidence(MessageId message, bool counts, bool shared);

  Options options_;
  Ticket next_ = 1;
  Ticket news_from_ = 0;
  int in_row_ = 0;             // failures since a call went well
  int messages_ = 0;           // whose first failure came since an answer said that it works
  std::uint64_t history_ = 0;  // a bit for each of the last answers: it failed
  std::unordered_set<MessageId> spent_;  // have lost a try and not gone well since
  std::chrono::milliseconds length_{0};
};

}  // namespace semel::core
