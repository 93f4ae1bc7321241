// Intake: makes a message of an arrival: finds its key, fingerprint and place in the order.
#pragma once

#include <optional>
#include <string>

#include <semel/key.h>
#include <semel/message.h>
#include <semel/result.h>
#include <semel/spi/delivery.h>

#include "base/json.h"
#include "core/key_recipe.h"
#include "core/order.h"
#include "core/trace_context.h"

namespace semel::core {

// Why no Message could be made; `reason` is from semel::reason.
struct Refusal {
  std::string reason;
  std::string error;
};

// Makes the Message of an arrival, moving payload and headers out of it. On refusal the arrival is
// left whole. A string key is taken unescaped, an integer as written. key.invalid: floats, null,
// empty strings, objects and arrays, and a header that is given twice with two values. key.missing:
// nothing at any part. payload.invalid: a payload that is not JSON where a part looks into it. An
// empty payload has nothing at any pointer. The `type` of a CloudEvent is used where the source
// reported none. One thread at a time.
//
// With an order, the message gets its ordering key, and the arrival its line, unless it brings one
// from the store. With `start_trace` the message gets its span.
class Intake {
 public:
  Intake(ConsumerNumber consumer, KeyRecipe recipe, Limits limits,
         std::optional<Order> order = std::nullopt, StartTrace start_trace = nullptr);
  tl::expected<Message, Refusal> make(Arrival& arrival);
  // Only the key, or why there is none; the arrival stays whole.
  tl::expected<Bytes, Refusal> key(const Arrival& arrival);
  // The line of an arrival. Does not look at the key, because this may be called within a store's
  // transaction, and a key function may be the user's code.
  std::optional<Bytes> line_of(const Arrival& arrival);

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
  KeyText usable_key_of(const Arrival& arrival);
  PartText ordering_key_of(const Arrival& arrival);
  std::optional<Bytes> line_with(const Arrival& arrival, BytesView ordering_key) const;
  std::optional<Refusal> parse(const Arrival& arrival);
  tl::expected<Fingerprint, Refusal> fingerprint_of_message(const Arrival& arrival);

  ConsumerNumber consumer_;
  KeyRecipe recipe_;
  Limits limits_;
  std::optional<Order> order_;
  StartTrace start_trace_;
  json::Document document_;
  bool parsed_ = false;     // document_ holds the payload of the current arrival
  std::string event_type_;  // of the current structured CloudEvent
};

// The message of a refused arrival, for its dead letter. Its key has no text; the id is a digest of
// partition, position and payload, so that the same arrival makes the same dead letter. The arrival
// stays whole: it is passed to observers.
Message refused_message(ConsumerNumber consumer, const Arrival& arrival);

}  // namespace semel::core
