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
  // kRetry, kDead: the effect may have happened: a connection was cut after the request had gone,
  // or it did happen and its answer cannot be kept. The record remembers it until the key is
  // completed.
  bool unknown = false;
  // kRetry, kDead: from semel::reason, for metrics and filters; empty: what the handler's kind
  // says.
  std::string code;
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
