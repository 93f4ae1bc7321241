#include "producer/address.h"

#include <fmt/format.h>

#include <utility>

#include <semel/key.h>
#include <semel/reason.h>

#include "base/printable.h"
#include "core/intake.h"
#include "core/nats_publish_spec.h"
#include "core/rabbitmq_publish_spec.h"
#include "core/standard_keys.h"
#include "producer/try_end.h"

namespace semel::producer {

namespace {

tl::unexpected<SendError> refused(Bytes key, std::string_view reason, std::string message,
                                  std::string hint) {
  TryEnd end;
  end.kind = TryEnd::Kind::kFinal;
  end.reason = reason;
  end.error = {reason == reason::kTooLarge ? ErrorKind::kLimit : ErrorKind::kRejected,
               {},
               std::move(message),
               std::move(hint)};
  return tl::unexpected(send_error(std::move(key), end, false));
}

Arrival arrival_of(const OutgoingMessage& message, const KeyRules& rules) {
  Arrival arrival;
  arrival.payload = message.payload;
  arrival.headers = message.headers;
  arrival.content_type = message.content_type;
  arrival.type = message.type;
  if (rules.given_first) arrival.key = message.key;
  if (rules.id_header.empty()) return arrival;
  if (const auto id = find_header(message.headers, rules.id_header)) {
    arrival.broker_key = Bytes(*id);
  }
  return arrival;
}

}  // namespace

core::KeyRecipe auto_recipe() {
  core::KeyRecipe recipe;
  recipe.parts.push_back({"auto", core::KeyPart::AutoPart{}});
  recipe.fingerprint = core::KeyRecipe::FingerprintOf::kNone;
  return recipe;
}

std::optional<std::string> header_key_flaw(BytesView key) {
  const auto read = core::idempotency_key({{"Idempotency-Key", Bytes(key)}});
  if (!read) return read.error();
  if (!*read || **read != key) {
    return "begins with a quote, or begins or ends with a blank: who reads it would drop that";
  }
  return std::nullopt;
}

std::optional<std::string> message_id_flaw(BytesView key) {
  Message::Parts parts;
  parts.key.text = key;
  if (core::rabbitmq_message_id_of(Message(std::move(parts))) == key) return std::nullopt;
  return "is no short text of AMQP: UTF-8 without control characters, of at most 255 bytes";
}

std::optional<std::string> nats_id_flaw(BytesView key) {
  if (auto flaw = header_key_flaw(key)) return flaw;
  Message::Parts parts;
  parts.key.text = key;
  if (core::nats_key_of(Message(std::move(parts))) == key) return std::nullopt;
  return "is no value of a header in NATS: UTF-8 without control characters or blanks at its ends, "
         "of at most 255 bytes";
}

tl::expected<OutgoingMessage, SendError> addressed(const OutgoingMessage& message,
                                                   const KeyRules& rules) {
  const Bytes given = message.key.value_or(Bytes());
  if (message.key && given.empty()) {
    return refused({}, reason::kKeyInvalid, "its key is empty",
                   "leave the key away for a new one, or give it one");
  }
  if (message.delay.count() != 0 && !rules.delays) {
    return refused(given, {}, "it has a delay, and only a consumer's queue can keep it for later",
                   "delay: 0, or send it to a queue");
  }
  core::Intake intake(ConsumerNumber{}, rules.recipe, core::Limits());
  auto found = intake.key(arrival_of(message, rules));
  if (!found && found.error().reason != reason::kKeyMissing) {
    return refused(given, found.error().reason,
                   "its consumer would refuse it: " + found.error().error,
                   "mend what it carries, or leave it away");
  }
  if (found && !given.empty() && *found != given) {
    return refused(given, reason::kKeyInvalid,
                   fmt::format("it carries another key, \"{}\", which its consumer finds first",
                               printable_start(*found, kMostKeyText)),
                   "give it one key");
  }
  OutgoingMessage made = message;
  made.key = found ? *std::move(found) : given.empty() ? Key::random() : given;
  if (rules.flaw != nullptr) {
    if (const auto flaw = rules.flaw(*made.key)) {
      return refused(*made.key, reason::kKeyInvalid, "its key " + *flaw,
                     "give it a key of plain text");
    }
  }
  if (rules.message_flaw) {
    if (auto flaw = rules.message_flaw(made)) {
      return refused(*made.key, {}, "it has " + *std::move(flaw),
                     "leave it out, or give it another name or value");
    }
  }
  return made;
}

}  // namespace semel::producer
