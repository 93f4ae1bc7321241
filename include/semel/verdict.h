// Verdict: what a handler says about the message it was given.
//
// A handler cannot say "duplicate" or "busy": those are Outcomes, and the record decides them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/held_message.h>

namespace semel {

// A message to send: it leaves if and only if the work is recorded as done.
struct Publication {
  std::string destination;  // by its name in the config, or as the runner was told
  // With a key, the same at each try, it is sent under that; without, under the key of the message
  // that it came of, and where several did, each under a key of its own.
  HeldMessage message;
};

// [[nodiscard]]: a verdict that is not returned changes nothing.
struct [[nodiscard]] Verdict {
  enum class Kind {
    kDone,     // the effect is made; record it
    kRetry,    // not this time; run it again later
    kDead,     // never; keep it as a dead letter for a person
    kDiscard,  // nothing to do and nothing to keep; recorded as completed, without an effect
  };

  Kind kind = Kind::kDone;
  Bytes result;        // kDone: kept with the record and given to whoever sends the key again
  std::string reason;  // kRetry, kDead, kDiscard: shown to people; the first line is kept
  std::optional<std::chrono::milliseconds>
      after;            // kRetry: not before; none: the retry policy says
  bool counted = true;  // kRetry: false when this try says nothing about the message itself
  // kRetry, kDead: the effect may have happened: a connection was cut after the request had gone,
  // or it did happen and its answer cannot be kept. The record remembers it until the key is
  // completed.
  bool unknown = false;
  // kRetry, kDead: from semel::reason, for metrics and filters; empty: what the handler's kind
  // says.
  std::string code;
  // kRetry: `after` is what the other end asked for. The retry policy's own delay is kept where it
  // is longer, and max_elapsed bounds it: no answer of a receiver uses up the tries at once, or
  // keeps the message for longer than the policy does.
  bool asked = false;
  // kDone: sent once this is recorded, and not before (the outbox). What every other verdict says
  // here is forgotten with it.
  std::vector<Publication> publications;

  // done().publish("mails", {…}).publish("audit", {…})
  [[nodiscard]] Verdict&& publish(std::string destination, HeldMessage message) && {
    publications.push_back({std::move(destination), std::move(message)});
    return std::move(*this);
  }
};

inline Verdict done(Bytes result = {}) {
  Verdict verdict;
  verdict.result = std::move(result);
  return verdict;
}
inline Verdict retry(std::string reason,
                     std::optional<std::chrono::milliseconds> after = std::nullopt) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kRetry;
  verdict.reason = std::move(reason);
  verdict.after = after;
  return verdict;
}
inline Verdict dead(std::string reason) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kDead;
  verdict.reason = std::move(reason);
  return verdict;
}
inline Verdict discard(std::string reason) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kDiscard;
  verdict.reason = std::move(reason);
  return verdict;
}

}  // namespace semel
