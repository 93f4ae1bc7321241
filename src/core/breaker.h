// Breaker: decides from an endpoint's answers when its gate is shut, for how long, and when it
// opens; and whether a failure says anything about its message.
//
// Pure, and independent of time: it counts calls. The answer to a call that began before the gate
// was last shut is no news, so hundreds of calls that fail together shut it once.
//
// A message that uses up its attempts is evidence against the endpoint once, until it succeeds: a
// few messages that the endpoint can never take do not shut the gate, and become dead letters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace semel::core {

class Breaker {
 public:
  // The number of a call, in the order in which calls begin.
  using Ticket = std::uint64_t;
  // Tells messages apart: a digest of the key.
  using MessageId = std::uint64_t;

  struct Options {
    // So many failures in a row shut the gate, as do three quarters failures among twice as many
    // last answers. The number is large enough that an endpoint with occasional failures under many
    // parallel calls is not shut off.
    int failures = 10;
    std::chrono::milliseconds first{1'000};
    std::chrono::milliseconds longest{300'000};  // each shut doubles the last, up to this
  };

  // The consequences of a failed call.
  struct Failure {
    std::optional<std::chrono::milliseconds> shut;  // for how long to shut the gate
    // Most messages fail, so this failure says nothing about its own message, which should come
    // again after those that wait at the gate.
    bool shared = false;
    std::chrono::milliseconds again_after{0};
    bool late = false;  // the call began before the gate was last shut
  };

  // The consequences of a denial.
  struct Denial {
    std::optional<std::chrono::milliseconds> shut;  // for how long to shut the gate
    // The message was denied before, others have succeeded since, and nothing says that the
    // endpoint is wrong now: it uses up an attempt.
    bool own = false;
    // Another message was denied before, and nothing has succeeded since.
    bool confirmed = false;
  };

  Breaker() = default;
  explicit Breaker(Options options) noexcept : options_(options) {}

  Ticket begin() noexcept { return next_++; }

  // The endpoint failed, perhaps by chance. `counts`: the failure uses up an attempt of `message`,
  // unless it is shared.
  Failure failed(Ticket call, MessageId message, bool counts);
  // The endpoint itself is at fault, so every call would fail. Returns for how long to shut the
  // gate; nullopt: not.
  std::optional<std::chrono::milliseconds> at_fault(Ticket call) noexcept;
  // The endpoint denied the call: it would deny every call, or this message alone.
  Denial denied(Ticket call, MessageId message);
  // The endpoint asked for a pause: returns that time, within bounds.
  std::chrono::milliseconds asked_to_wait(std::chrono::milliseconds wait) noexcept;
  // The endpoint works. Returns whether to open the gate.
  bool answered(Ticket call, MessageId message = 0) noexcept;

 private:
  bool stale(Ticket call) const noexcept { return call < news_from_; }
  std::chrono::milliseconds shut() noexcept;
  bool mostly_failed() const noexcept;
  bool all_fail() const noexcept { return messages_ >= options_.failures || mostly_failed(); }
  bool is_evidence(MessageId message, bool counts, bool shared);
  bool others_succeeded_since_denial(MessageId message);

  Options options_;
  Ticket next_ = 1;
  Ticket news_from_ = 0;
  int in_row_ = 0;                       // failures since the last success
  int messages_ = 0;                     // with their first failure since the last success
  std::uint64_t history_ = 0;            // a bit for each of the last answers: it failed
  std::unordered_set<MessageId> spent_;  // have lost an attempt and not succeeded since
  std::uint64_t successes_ = 0;
  // The successes before their first denial, of messages that have not succeeded since.
  std::unordered_map<MessageId, std::uint64_t> denied_;
  // Since the last success: the first message that was denied as all others might be, and those
  // whose denials were their own.
  std::optional<MessageId> witness_;
  std::unordered_set<MessageId> denied_alone_;
  std::chrono::milliseconds length_{0};
};

}  // namespace semel::core
