// The closed list of reasons: label of metrics, group of dead letters, word in filters.
//
// A reason is one of these names, or of a family that carries a part of its own
// (`handler.sql.<class>`, `handler.http.<status>`, `handler.exec.<code>`, `handler.kafka.<word>`,
// `handler.nats.<word>`, `handler.rabbitmq.<word>`, `handler.redis_streams.<word>`,
// `handler.sns.<word>`, `handler.sqs.<word>`). Free text goes beside it, as the error.
#pragma once

#include <string>
#include <string_view>

#include <semel/standard.h>

namespace semel::reason {

inline constexpr std::string_view kKeyMissing = "key.missing";
inline constexpr std::string_view kKeyInvalid = "key.invalid";
inline constexpr std::string_view kKeyConflict = "key.conflict";
inline constexpr std::string_view kTooLarge = "too_large";
inline constexpr std::string_view kTooOld = "too_old";
inline constexpr std::string_view kCrash = "crash";
inline constexpr std::string_view kPayloadInvalid = "payload.invalid";
// From a Redis stream: it was delivered before, and its data is gone.
inline constexpr std::string_view kTrimmed = "trimmed";
inline constexpr std::string_view kHandlerNative = "handler.native";
inline constexpr std::string_view kHandlerTimeout = "handler.timeout";
inline constexpr std::string_view kAttemptsExhausted = "attempts.exhausted";
inline constexpr std::string_view kElapsedExhausted = "elapsed.exhausted";
// From strategy at_most_once: an attempt began and never ended; an attempt ended with an unknown
// outcome.
inline constexpr std::string_view kLeaseParked = "lease.parked";
inline constexpr std::string_view kOutcomeUnknown = "outcome.unknown";
// From a Guard: another holder, or a person, has the record; the late holder's result is refused.
inline constexpr std::string_view kLeaseLost = "lease.lost";
// Journal and code disagree about the steps of a message; an undo did not succeed.
inline constexpr std::string_view kStepsChanged = "steps.changed";
inline constexpr std::string_view kStepsUndo = "steps.undo";
inline constexpr std::string_view kOperator = "operator";
inline constexpr std::string_view kStoreUnavailable = "store.unavailable";
// For a duplicate: the window in front of the records knew it.
inline constexpr std::string_view kFront = "front";
// From strategy optimistic_lock.
inline constexpr std::string_view kVersionEarly = "version.early";
inline constexpr std::string_view kVersionLost = "version.lost";
inline constexpr std::string_view kVersionMissing = "version.missing";
inline constexpr std::string_view kVersionInvalid = "version.invalid";

// handler.sql.<class>: constraint, refused, expect_rows, syntax, busy, other.
inline std::string sql_reason(std::string_view sql_class) {
  return "handler.sql." + std::string(sql_class);
}

// handler.http.<status>, or a word where no status came: connect, reset, invalid, too_large.
inline std::string http_reason(std::string_view status) {
  return "handler.http." + std::string(status);
}

// handler.exec.<code>, or a word where no code came: start, signal_<number>.
inline std::string exec_reason(std::string_view code) {
  return "handler.exec." + std::string(code);
}

// handler.kafka.<word>: connect, timeout, topic, denied, too_large, invalid, fatal, broker.
inline std::string kafka_reason(std::string_view word) {
  return "handler.kafka." + std::string(word);
}

// handler.rabbitmq.<word>: connect, reset, timeout, blocked, unroutable, exchange, denied,
// too_large, invalid, nack, broker.
inline std::string rabbitmq_reason(std::string_view word) {
  return "handler.rabbitmq." + std::string(word);
}

// handler.redis_streams.<word>: connect, reset, timeout, stream, denied, full, too_large, invalid,
// server.
inline std::string redis_streams_reason(std::string_view word) {
  return "handler.redis_streams." + std::string(word);
}

// handler.nats.<word>: connect, reset, timeout, stream, denied, full, too_large, invalid, server.
inline std::string nats_reason(std::string_view word) {
  return "handler.nats." + std::string(word);
}

// handler.sqs.<word>: connect, reset, timeout, queue, denied, credentials, throttled, too_large,
// invalid, server.
inline std::string sqs_reason(std::string_view word) { return "handler.sqs." + std::string(word); }

// handler.sns.<word>: connect, reset, timeout, topic, denied, credentials, throttled, too_large,
// invalid, server.
inline std::string sns_reason(std::string_view word) { return "handler.sns." + std::string(word); }

}  // namespace semel::reason
