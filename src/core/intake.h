// Intake: from what arrived to a message: its key, fingerprint and place in the order.
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
// left whole. A string key is taken unescaped, an integer as written; floats, null, empty, objects
// and arrays are refused (key.invalid), and so is a header that stands twice with two values;
// nothing at any part is key.missing; a payload that is not JSON where a part looks into it is
// payload.invalid. An empty payload has nothing at any pointer. A CloudEvent's `type` is the
// message's where the source said none. One thread at a time.
//
// With an order the message has its ordering key, and the arrival the line it stands in, where it
// brings none from the store. With `start_trace` the message has its span.
class Intake {
 public:
  Intake(ConsumerNumber consumer, KeyRecipe recipe, Limits limits,
         std::optional<Order> order = std::nullopt, StartTrace start_trace = nullptr);
  tl::expected<Message, Refusal> make(Arrival& arrival);
  // The key alone, or why there is none; the arrival stays whole.
  tl::expected<Bytes, Refusal> key(const Arrival& arrival);
  // The line in which an arrival is to stand. The key is not looked at: this may be called within a
  // store's transaction, and what finds a key may be the user's code.
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
  bool parsed_ = false;     // document_ holds the payload of the arrival at hand
  std::string event_type_;  // of the structured CloudEvent at hand
};

// The message of an arrival that was refused, for its dead letter. Its key has no text; the id is a
// digest of what is there (partition, position and payload), so that the same arrival makes the
// same dead letter. The arrival stays whole: observers are told of it.
Message refused_message(ConsumerNumber consumer, const Arrival& arrival);

}  // namespace semel::core
