// KeyRecipe: how a consumer finds a message's key, its fingerprint and its ordering key.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/message.h>
#include <semel/result.h>
#include <semel/spi/delivery.h>

#include "base/json.h"

namespace semel::core {

struct KeyPart {
  struct JsonPart {
    json::Pointer pointer;
  };
  struct HeaderPart {
    std::string name;
  };
  struct BrokerKeyPart {};  // Arrival::broker_key
  struct PositionPart {};
  struct FunctionPart {};
  struct CloudEventPart {};      // source and id of a CloudEvent, binary or structured
  struct IdempotencyKeyPart {};  // the header Idempotency-Key, quoted or bare
  struct WebhookIdPart {};       // the header webhook-id
  struct AutoPart {};            // the first one present of those that standards define
  std::string text;  // as written in the config: "json:/id", "header:Idempotency-Key", "position"
  std::variant<JsonPart, HeaderPart, BrokerKeyPart, PositionPart, FunctionPart, CloudEventPart,
               IdempotencyKeyPart, WebhookIdPart, AutoPart>
      what;

  static Result<KeyPart> parse(std::string_view text);
};

struct KeyRecipe {
  // kHashBody: the body's digest is the key, in a form that no other key may have.
  enum class Missing { kDeadLetter, kFail, kHashBody };
  // kJson: the payload's JSON value, independent of its spelling.
  enum class FingerprintOf { kBody, kJson, kNone, kFields };

  std::vector<KeyPart> parts;
  bool join = false;  // all parts together make the key; else the first one present
  Missing missing = Missing::kDeadLetter;
  FingerprintOf fingerprint = FingerprintOf::kBody;
  std::vector<json::Pointer> fingerprint_fields;                 // kFields
  std::function<std::optional<Bytes>(const Arrival&)> function;  // for FunctionPart

  // Identifies the recipe in the store: a change makes every key new. `missing` is not part of it,
  // and `auto` alone equals a consumer without a recipe: neither makes a key new.
  Bytes hash() const;

  // The id of a key found by this recipe. A key of `position` alone keeps its order.
  KeyId id_of(ConsumerNumber consumer, BytesView key) const noexcept;
};

// All ids that a record with this key may have, whichever recipe found it.
std::vector<KeyId> possible_ids(ConsumerNumber consumer, BytesView key);

// How a message without payload bytes, such as a Kafka tombstone, is treated.
enum class EmptyPayload { kHandle, kDeadLetter, kDiscard };

// A message beyond these sizes becomes a dead letter with reason `too_large`, and is never cut.
struct Limits {
  std::size_t key = 64 << 10;
  std::size_t payload = 16 << 20;
  std::size_t headers = 256 << 10;
  std::size_t result = 1 << 20;
};

}  // namespace semel::core
