// Makes a message sendable: with its key, where its consumer will find it. Pure, except the key of
// a message that has none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <semel/outgoing_message.h>
#include <semel/producer.h>

#include "core/key_recipe.h"

namespace semel::producer {

// How a destination's consumer finds the key of its messages.
struct KeyRules {
  core::KeyRecipe recipe;
  // A given key takes precedence over the recipe's. Otherwise the two must be equal.
  bool given_first = false;
  // A message may be delayed for the consumer.
  bool delays = false;
  // The header that the broker's own id is made of; empty: there is none.
  std::string id_header{};
  // Why a key would not arrive unchanged, in words that follow it; nullopt where it would.
  std::optional<std::string> (*flaw)(BytesView key) = nullptr;
  // Why a message, which has its key, would not arrive unchanged, in words that follow "it has";
  // nullopt where it would. Empty: every message would.
  std::function<std::optional<std::string>(const OutgoingMessage&)> message_flaw{};
};

// A consumer whose config names no key.
core::KeyRecipe auto_recipe();

// Why a key cannot be the value of Idempotency-Key in a record's header, a message-id, or a
// Nats-Msg-Id.
std::optional<std::string> header_key_flaw(BytesView key);
std::optional<std::string> message_id_flaw(BytesView key);
std::optional<std::string> nats_id_flaw(BytesView key);

// The message with its key: the given one, the one it carries, or a new one. Refused where the
// consumer would refuse it, or find another one.
tl::expected<OutgoingMessage, SendError> addressed(const OutgoingMessage& message,
                                                   const KeyRules& rules);

}  // namespace semel::producer
