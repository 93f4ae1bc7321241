// Outcome: how one delivery ended. Every delivery has exactly one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <semel/bytes.h>
#include <semel/error.h>

namespace semel {

struct Outcome {
  enum class Kind {
    kDone,       // its effect happened now, and is recorded
    kDuplicate,  // its effect had happened before
    kBusy,       // another worker holds the key, or its retry is not due: deliver it again later
    kConflict,   // same key, other payload: not executed. A runner keeps it as a dead letter; a
                 // Guard has no payload to keep, and settles it with kLater
    kRetry,      // not now: it runs again
    kDead,       // given up, now or before: a runner keeps a dead letter, a Guard the closed record
    kDiscarded,  // there was nothing to do, by the handler's verdict or the config (empty payloads)
    kParked,     // its record waits for a decision of a person, and does not run again before
  };

  // The act that is left to do at the source. kAck is never reported before the record is durable.
  enum class Settle {
    kAck,      // the record, or the held message, is durable: acknowledge
    kAcked,    // the record's own commit deleted the source's row, or acknowledged the delivery:
               // nothing is left to do
    kLater,    // only the source keeps it: deliver it again after `delay`
    kRelease,  // not started: give it back as it came
    kKeep,     // not started: the runner keeps it in memory, and runs it after `delay`
  };

  Kind kind = Kind::kDone;
  Settle settle = Settle::kAck;
  Bytes result{};        // kDone and kDuplicate: the stored result, where there is one
  std::string reason{};  // from semel::reason; empty for kDone
  std::string error{};   // for people
  int attempt = 0;       // number of the handler's attempt, from 1; 0 when it did not run
  std::chrono::milliseconds delay{0};  // kRetry, kBusy, kLater and kKeep: until the next attempt
  // kDuplicate: when its effect was recorded, by the store's clock; zero where that is unknown.
  std::chrono::system_clock::time_point completed_at{};
  bool closed_before = false;  // kDead, kParked: its record was in that state already
  // kRetry because the store is away, reason store.unavailable: its error; null where it is
  // unknown.
  std::shared_ptr<const Error> store_error{};

  // Three questions for a loop of your own; at most one is true. All are false for kDiscarded:
  // there was nothing to do.
  //
  // The effect is recorded: made now, or before. On a borrowed connection the caller's COMMIT is
  // still to come.
  [[nodiscard]] bool effect_exists() const noexcept {
    return kind == Kind::kDone || kind == Kind::kDuplicate;
  }
  // The same message may have its effect later, after `delay`, without anyone's decision.
  [[nodiscard]] bool try_again() const noexcept {
    return kind == Kind::kBusy || kind == Kind::kRetry;
  }
  // Nothing handles it again unless a person decides so: keep the message yourself, and acknowledge
  // it. `settle`, which is for runners, is kLater where only the source keeps the message.
  [[nodiscard]] bool given_up() const noexcept {
    return kind == Kind::kDead || kind == Kind::kConflict || kind == Kind::kParked;
  }
};

// "done", "duplicate", … : the word used in metrics, logs and JSON.
const char* to_string(Outcome::Kind kind) noexcept;

}  // namespace semel
