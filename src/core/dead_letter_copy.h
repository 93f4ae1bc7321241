// The copy of a dead letter that leaves for a topic or queue. Pure.
//
// The store's dead letter is the truth; the copy is there for those who read the broker.
#pragma once

#include <string_view>

#include <semel/held_message.h>
#include <semel/spi/finish.h>

namespace semel::core {

inline constexpr std::string_view kDeadLetterConsumer = "semel-consumer";
inline constexpr std::string_view kDeadLetterReason = "semel-reason";
inline constexpr std::string_view kDeadLetterError = "semel-error";
inline constexpr std::string_view kDeadLetterAttempts = "semel-attempts";
inline constexpr std::string_view kDeadLetterSource = "semel-source";      // Arrival::partition
inline constexpr std::string_view kDeadLetterPosition = "semel-position";  // Arrival::position

// Of a Finish that makes a dead letter of what it keeps. Payload, headers, type and key are the
// message's own, so that each copy of one dead letter has the same key; one without a key has its
// source and position for it. The headers named above stand in the place of those it came with.
Outgoing dead_letter_copy(ConsumerNumber to, std::string_view consumer, const Finish& finish);

}  // namespace semel::core
