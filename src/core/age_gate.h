// The age gate: a message so old that its record may be forgotten cannot be proven new. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/spi/delivery.h>

namespace semel::core {

// The fate of such a message where it has no record.
enum class TooOld {
  kPark,     // its record waits for a person
  kHandle,   // it is taken for new
  kDiscard,  // it is settled, and its record completed without an effect
};

struct AgeLimit {
  std::chrono::milliseconds ttl{0};     // of a finished record
  std::chrono::milliseconds oldest{0};  // older messages without a record are too old
  bool discards = false;                // otherwise it is parked
};

// This part of the ttl covers the difference between the clocks of the broker and the store, and
// the time between a message's first delivery and its record.
inline constexpr int kAgeMarginPart = 8;

// nullopt: no message is too old. `ttl`: nullopt where records are kept for ever.
std::optional<AgeLimit> age_limit_of(std::optional<std::chrono::milliseconds> ttl,
                                     TooOld too_old) noexcept;

// Whether the arrival has an age: its broker gives a time, and it was not tried before. A message
// that waits in the store keeps its broker's time; one that a person replays from the dead letters
// has none.
bool has_age(const Arrival& arrival) noexcept;

// The error of a message of that age, for people.
std::string too_old_text(const AgeLimit& limit, std::chrono::milliseconds age);

}  // namespace semel::core
