// Verdict: what a handler says about the message it was given.
//
// A handler cannot say "duplicate" or "busy": those are Outcomes, and the record decides them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <semel/bytes.h>

namespace semel {

struct Verdict {
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
};

inline Verdict done(Bytes result = {}) {
  return {Verdict::Kind::kDone, std::move(result), {}, std::nullopt, true};
}
inline Verdict retry(std::string reason,
                     std::optional<std::chrono::milliseconds> after = std::nullopt) {
  return {Verdict::Kind::kRetry, {}, std::move(reason), after, true};
}
inline Verdict dead(std::string reason) {
  return {Verdict::Kind::kDead, {}, std::move(reason), std::nullopt, true};
}
inline Verdict discard(std::string reason) {
  return {Verdict::Kind::kDiscard, {}, std::move(reason), std::nullopt, true};
}

}  // namespace semel
