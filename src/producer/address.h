// From a message to one that can be sent: with its key, where its consumer will find it. Pure but
// for the key of one that has none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <semel/held_message.h>
#include <semel/producer.h>

#include "core/key_recipe.h"

namespace semel::producer {

// How a destination's consumer finds the key of what is sent there.
struct KeyRules {
  core::KeyRecipe recipe;
  // A key that is given goes before what the recipe finds. Else the two must be one.
  bool given_first = false;
  // The consumer may be given a message later.
  bool delays = false;
  // The header that the broker's own id is made of; empty: there is none.
  std::string id_header{};
  // Why a key would not arrive as it is, in words that follow it; nothing where it would.
  std::optional<std::string> (*flaw)(BytesView key) = nullptr;
};

// A consumer whose config names no key.
core::KeyRecipe auto_recipe();

// The flaw that keeps a key from being the value of Idempotency-Key in a record's header, a
// message-id, or a Nats-Msg-Id.
std::optional<std::string> header_key_flaw(BytesView key);
std::optional<std::string> message_id_flaw(BytesView key);
std::optional<std::string> nats_id_flaw(BytesView key);

// The message with its key: the one it was given, the one it carries, or a new one. Refused where
// the consumer would refuse it, or find another one.
tl::expected<HeldMessage, SendError> addressed(const HeldMessage& message, const KeyRules& rules);

}  // namespace semel::producer
