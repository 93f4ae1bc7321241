// Verdict: what a handler says about the message it was given.
//
//   return semel::done();
//   return semel::done("receipt 17");                      // a result that is kept with the record
//   return semel::done({}, {{"mails", std::move(mail)}});  // and messages that leave with it
//   return semel::retry("the gateway is busy", std::chrono::seconds(5));
//   return semel::dead("an amount must be positive");
//   return semel::discard("a test message");
//
// A verdict holds only what its kind uses, and does not change once it is made: a delay on a
// message that is done does not compile. A handler cannot say "duplicate" or "busy": those are
// outcomes (outcome.h), and the record decides them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/bytes.h>
#include <semel/outgoing_message.h>

namespace semel {

// A message to send: it leaves if and only if the work is recorded as done (the outbox).
struct Publication {
  // Another consumer whose source is the queue; under a Guard, one of GuardOptions::receivers.
  std::string destination;
  // With a key, it is sent under that key at every attempt. Without one it is sent under the key of
  // the message that was handled; where that one sends several, each has a key of its own.
  OutgoingMessage message;
};

// A value; safe to read from any thread. [[nodiscard]]: a verdict that is not returned changes
// nothing.
class [[nodiscard]] Verdict {
 public:
  enum class Kind {
    kDone,     // the effect is made: record it
    kRetry,    // not this time: run it again later
    kDead,     // never: keep it as a dead letter for a person
    kDiscard,  // there is nothing to do: recorded as completed, without an effect
  };

  // The four kinds with all their details; a handler rarely needs more than done(), retry(), dead()
  // and discard() below.
  struct Done {
    Bytes result{};  // kept with the record, and returned when the key is sent again
    std::vector<Publication> publications{};  // sent once this is recorded, and not before
  };
  struct Retry {
    std::string reason{};                              // shown to people; the first line is kept
    std::optional<std::chrono::milliseconds> after{};  // not before; nullopt: by the retry policy
    // False: this attempt says nothing about the message, and does not count against it.
    bool counted = true;
    // The effect may have happened: the connection was cut after the request had left, or it did
    // happen and its answer cannot be kept. The record remembers this until the key is completed.
    bool unknown = false;
    std::string code{};  // from semel::reason, for metrics and filters; empty: the handler's own
    // `after` was asked for by the receiver. The retry policy's own delay applies where it is
    // longer, and max_elapsed limits it: a receiver's answer can neither use up the attempts
    // quickly nor keep the message longer than the policy allows.
    bool asked = false;
  };
  struct Dead {
    std::string reason{};  // as in Retry
    bool unknown = false;  // as in Retry
    std::string code{};    // as in Retry
  };
  struct Discard {
    std::string reason{};  // as in Retry
  };
  using Details = std::variant<Done, Retry, Dead, Discard>;  // in the order of Kind

  // NOLINTBEGIN(google-explicit-constructor)
  Verdict(Done details) : details_(std::move(details)) {}
  Verdict(Retry details) : details_(std::move(details)) {}
  Verdict(Dead details) : details_(std::move(details)) {}
  Verdict(Discard details) : details_(std::move(details)) {}
  // NOLINTEND(google-explicit-constructor)
  explicit Verdict(Details details) : details_(std::move(details)) {}

  Kind kind() const noexcept { return static_cast<Kind>(details_.index()); }
  const Details& details() const& noexcept { return details_; }
  Details&& details() && noexcept { return std::move(details_); }

  // Details of any kind; empty, nullopt or false where the kind has none of that name.
  const Bytes& result() const noexcept;
  const std::vector<Publication>& publications() const noexcept;
  const std::string& reason() const noexcept;
  std::optional<std::chrono::milliseconds> after() const noexcept;
  bool counted() const noexcept;  // true for all kinds but kRetry
  bool unknown() const noexcept;
  const std::string& code() const noexcept;
  bool asked() const noexcept;

 private:
  Details details_;
};

[[nodiscard]] inline Verdict done(Bytes result = {}, std::vector<Publication> publications = {}) {
  return Verdict::Done{std::move(result), std::move(publications)};
}
[[nodiscard]] inline Verdict retry(std::string reason,
                                   std::optional<std::chrono::milliseconds> after = std::nullopt) {
  Verdict::Retry details;
  details.reason = std::move(reason);
  details.after = after;
  return details;
}
[[nodiscard]] inline Verdict dead(std::string reason) {
  Verdict::Dead details;
  details.reason = std::move(reason);
  return details;
}
[[nodiscard]] inline Verdict discard(std::string reason) {
  return Verdict::Discard{std::move(reason)};
}

}  // namespace semel
