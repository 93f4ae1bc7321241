// Outcome: how one delivery ended. Every delivery has exactly one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/bytes.h>

namespace semel {

struct Outcome {
  enum class Kind {
    kDone,       // its effect happened now, and is recorded
    kDuplicate,  // its effect had happened before
    kBusy,       // someone else holds the key, or its retry is not due: come back later
    kConflict,   // same key, other payload: not executed. Kept as a dead letter; by a Guard, which
                 // has no payload to keep, not: then it is kLater
    kRetry,      // not now: will be run again
    kDead,       // given up: kept as a dead letter, or had been before. A Guard closes the record
                 // and keeps no letter
    kDiscarded,  // there was nothing to do: the handler said so, or the config of empty payloads
    kParked,     // its record waits for a person to decide: nothing runs it again before
  };

  // What is left to do at the source. Never kAck before the record is durable.
  enum class Settle {
    kAck,      // the record, or the held message, is durable: tell the source
    kAcked,    // the source's row went with the record's own commit: nothing is left to do
    kLater,    // nobody keeps it but the source: bring it again after `delay`
    kRelease,  // not started: give it back as it came
    kKeep,     // not started: who has it in hand keeps it, and tries it after `delay`
  };

  Kind kind = Kind::kDone;
  Settle settle = Settle::kAck;
  Bytes result;        // kDone and kDuplicate: the stored result, where there is one
  std::string reason;  // from semel::reason; empty for kDone
  std::string error;   // what was said about it, for people
  int attempt = 0;     // which try of the handler this was; 0 when it did not run
  std::chrono::milliseconds delay{0};  // kRetry, kBusy, kLater and kKeep: until the next try
  std::uint64_t waits_for = 0;         // kKeep: what may end the delay sooner; zero: nothing
  // kDuplicate: when its effect was recorded, by the store's clock; zero where that is not known.
  std::chrono::system_clock::time_point completed_at{};
  bool closed_before = false;  // kDead, kParked: its record was in that state already

  // Three questions for a loop of one's own; at most one is answered yes. kDiscarded answers no to
  // all: there was nothing to do.
  //
  // The effect is recorded: made now, or before. On a borrowed connection the caller's COMMIT is
  // still to come.
  [[nodiscard]] bool effect_exists() const noexcept {
    return kind == Kind::kDone || kind == Kind::kDuplicate;
  }
  // The same message may have its effect later, after `delay`: nobody has to decide anything.
  [[nodiscard]] bool try_again() const noexcept {
    return kind == Kind::kBusy || kind == Kind::kRetry;
  }
  // Nothing handles the message again unless a person decides so. kDead is acknowledged (settle is
  // kAck); where nobody else keeps what is in conflict or parked, settle is kLater.
  [[nodiscard]] bool given_up() const noexcept {
    return kind == Kind::kDead || kind == Kind::kConflict || kind == Kind::kParked;
  }
};

// "done", "duplicate", … : the word used in metrics, logs and JSON.
const char* to_string(Outcome::Kind kind) noexcept;

}  // namespace semel
