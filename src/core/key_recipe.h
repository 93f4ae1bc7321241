// KeyRecipe: how a consumer finds a message's key, its fingerprint and its ordering key.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/delivery.h>
#include <semel/message.h>
#include <semel/result.h>

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
  struct AutoPart {};            // the first one present of those that standards name
  std::string text;  // as written in the config: "json:/id", "header:Idempotency-Key", "position"
  std::variant<JsonPart, HeaderPart, BrokerKeyPart, PositionPart, FunctionPart, CloudEventPart,
               IdempotencyKeyPart, WebhookIdPart, AutoPart>
      what;

  static Result<KeyPart> parse(std::string_view text);
};

struct KeyRecipe {
  // kHashBody: the body's digest is the key, in a form that no key found elsewhere may have.
  enum class Missing { kDeadLetter, kFail, kHashBody };
  enum class FingerprintOf { kBody, kNone, kFields };

  std::vector<KeyPart> parts;
  bool join = false;  // all parts together make the key; else the first one present does
  Missing missing = Missing::kDeadLetter;
  FingerprintOf fingerprint = FingerprintOf::kBody;
  std::vector<json::Pointer> fingerprint_fields;                 // kFields
  std::function<std::optional<Bytes>(const Arrival&)> function;  // for FunctionPart

  // Identifies the recipe in the store: a change makes every key new. `missing` is no part of it,
  // and `auto` alone is the recipe of a consumer that names none: neither makes a key new.
  Bytes hash() const;

  // The id of a key found by this recipe. A key of `position` alone keeps its order.
  KeyId id_of(ConsumerNumber consumer, BytesView key) const noexcept;
};

// Sizes past which a message becomes a dead letter with reason `too_large`, never a cut.
struct Limits {
  std::size_t key = 64 << 10;
  std::size_t payload = 16 << 20;
  std::size_t headers = 256 << 10;
  std::size_t result = 1 << 20;
};

// Why no Message could be made; `reason` is from semel::reason.
struct Refusal {
  std::string reason;
  std::string error;
};

// Makes the Message of an arrival, moving payload and headers out of it. On refusal the arrival is
// left whole. A string key is taken unescaped, an integer as written; floats, null, empty, objects
// and arrays are refused (key.invalid), and so is a header that stands twice with two values;
// nothing at any part is key.missing; a payload that is not JSON where a part looks into it is
// payload.invalid. A CloudEvent's `type` is the message's where the source said none. One thread at
// a time.
class Intake {
 public:
  Intake(ConsumerNumber consumer, KeyRecipe recipe, Limits limits);
  tl::expected<Message, Refusal> make(Arrival& arrival);

 private:
  using KeyText = tl::expected<Bytes, Refusal>;
  using PartText = tl::expected<std::optional<Bytes>, Refusal>;

  std::optional<Refusal> too_large(const Arrival& arrival) const;
  KeyText key_of(const Arrival& arrival);
  KeyText joined_key_of(const Arrival& arrival);
  PartText text_of(const KeyPart& part, const Arrival& arrival);
  PartText json_text_of(const KeyPart& part, const Arrival& arrival);
  PartText function_text_of(const KeyPart& part, const Arrival& arrival);
  PartText auto_text_of(const Arrival& arrival);
  PartText event_text_of(const Arrival& arrival);
  PartText structured_event_of(const Arrival& arrival, bool declared);
  PartText event_member(std::string_view name);
  KeyText key_or_digest_of(const Arrival& arrival);
  std::optional<Refusal> parse(const Arrival& arrival);
  tl::expected<Fingerprint, Refusal> fingerprint_of_message(const Arrival& arrival);

  ConsumerNumber consumer_;
  KeyRecipe recipe_;
  Limits limits_;
  json::Document document_;
  bool parsed_ = false;     // document_ holds the payload of the arrival at hand
  std::string event_type_;  // of the structured CloudEvent at hand
};

// The message of an arrival that was refused, for its dead letter. Its key has no text; the id is a
// digest of what is there (partition, position and payload), so that the same arrival makes the
// same dead letter. The arrival stays whole: observers are told of it.
Message refused_message(ConsumerNumber consumer, const Arrival& arrival);

}  // namespace semel::core
