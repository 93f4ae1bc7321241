// The copy of a dead letter that is sent to a topic or queue. Pure.
//
// The store's dead letter is authoritative; the copy is for readers of the broker.
#pragma once

#include <string_view>

#include <semel/outgoing_message.h>
#include <semel/spi/finish.h>

#include "core/route.h"

namespace semel::core {

inline constexpr std::string_view kDeadLetterConsumer = "semel-consumer";
inline constexpr std::string_view kDeadLetterReason = "semel-reason";
inline constexpr std::string_view kDeadLetterError = "semel-error";
inline constexpr std::string_view kDeadLetterAttempts = "semel-attempts";
inline constexpr std::string_view kDeadLetterSource = "semel-source";      // Arrival::partition
inline constexpr std::string_view kDeadLetterPosition = "semel-position";  // Arrival::position

// The copy for a Finish that makes a dead letter of what it keeps. Payload, headers, type and key
// are the message's own, so each copy of one dead letter has the same key; without a key, source
// and position serve as key. A shared route puts `consumer` before it, a twofold one "/0" behind
// it. The headers named above replace those of the same names.
Outgoing dead_letter_copy(const Route& to, std::string_view consumer, const Finish& finish);

}  // namespace semel::core
