#include "core/intake.h"

#include <exception>

#include <fmt/format.h>

#include <semel/guard.h>
#include <semel/reason.h>

#include "base/digest.h"
#include "base/json_canonical.h"
#include "core/json_key.h"
#include "core/key_encoding.h"
#include "core/standard_keys.h"

namespace semel::core {
namespace {

using std::string_view;

Refusal refusal(string_view reason, std::string error) {
  return {std::string(reason), std::move(error)};
}
tl::unexpected<Refusal> refuse(string_view reason, std::string error) {
  return tl::unexpected<Refusal>(refusal(reason, std::move(error)));
}

// Names the copy: partitions of one source may use the same positions.
Bytes position_text(const Arrival& arrival) {
  constexpr char kSeparator = '@';
  Bytes text;
  append_escaped(text, arrival.partition, kSeparator);
  text += kSeparator;
  append_escaped(text, arrival.position, kSeparator);
  return text;
}

// A field's contribution to a fingerprint: its kind and its text.
Bytes field_text(const json::Scalar& scalar) {
  struct Text {
    Bytes operator()(const json::Absent&) const { return "absent"; }
    Bytes operator()(const json::Composite& c) const { return "composite " + Bytes(c.written); }
    Bytes operator()(const json::JsonNull&) const { return "null"; }
    Bytes operator()(bool b) const { return b ? "true" : "false"; }
    Bytes operator()(const json::Integer& i) const { return "number " + Bytes(i.written); }
    Bytes operator()(const json::Float& f) const { return "number " + Bytes(f.written); }
    Bytes operator()(const std::string& s) const { return "string " + s; }
  };
  return std::visit(Text{}, scalar);
}

std::size_t size_of(const Headers& headers) noexcept {
  std::size_t size = 0;
  for (const Header& header : headers) size += header.name.size() + header.value.size();
  return size;
}

Refusal past_limit(string_view what, std::size_t size, std::size_t limit) {
  return refusal(reason::kTooLarge,
                 fmt::format("the {} has {} bytes, and {} is the limit", what, size, limit));
}

// Turns a header that cannot be a key into a refusal of the message.
tl::expected<std::optional<Bytes>, Refusal> invalid_at(const KeyPart& part, FoundKey found) {
  if (found) return std::move(*found);
  return refuse(reason::kKeyInvalid, fmt::format("the key at {}: {}", part.text, found.error()));
}

std::string missing_at(string_view places, const Arrival& arrival) {
  return fmt::format("no key at {}{}", places,
                     arrival.payload.empty() ? ": the payload is empty" : "");
}

// The key of a message that was held without one is looked up anew.
bool held_key(const Arrival& arrival) noexcept { return arrival.key && !arrival.key->empty(); }

// The type that the source reported, else the one in a CloudEvent's headers.
std::string type_of(const Arrival& arrival) {
  return arrival.type.empty() ? event_type(arrival.headers) : arrival.type;
}

}  // namespace

Intake::Intake(ConsumerNumber consumer, KeyRecipe recipe, Limits limits, std::optional<Order> order,
               StartTrace start_trace)
    : consumer_(consumer),
      recipe_(std::move(recipe)),
      limits_(limits),
      order_(std::move(order)),
      start_trace_(std::move(start_trace)) {}

tl::expected<Message, Refusal> Intake::make(Arrival& arrival) {
  parsed_ = false;
  event_type_.clear();
  if (arrival.refused) return refuse(*arrival.refused, arrival.refused_error);
  if (std::optional<Refusal> large = too_large(arrival)) return tl::unexpected(std::move(*large));
  KeyText key = usable_key_of(arrival);
  if (!key) return tl::unexpected(std::move(key.error()));
  PartText ordering_key = ordering_key_of(arrival);
  if (!ordering_key) return tl::unexpected(std::move(ordering_key.error()));
  tl::expected<Fingerprint, Refusal> fingerprint =
      held_key(arrival) && arrival.fingerprint
          ? tl::expected<Fingerprint, Refusal>(*arrival.fingerprint)
          : fingerprint_of_message(arrival);
  if (!fingerprint) return tl::unexpected(std::move(fingerprint.error()));

  Message::Parts parts;
  parts.type = type_of(arrival);
  if (parts.type.empty()) parts.type = std::move(event_type_);
  parts.key.id = recipe_.id_of(consumer_, *key);
  if (*ordering_key) parts.ordering_key = std::move(**ordering_key);
  if (!arrival.row) arrival.line = line_with(arrival, parts.ordering_key);
  parts.key.text = std::move(*key);
  parts.fingerprint = *fingerprint;
  parts.payload = std::move(arrival.payload);
  parts.headers = std::move(arrival.headers);
  parts.content_type = arrival.content_type;
  if (start_trace_) parts.span = start_trace_(parts.key, parts.headers);
  Message message(std::move(parts));
  message.known_json_ = parsed_;
  return message;
}

tl::expected<Bytes, Refusal> Intake::key(const Arrival& arrival) {
  parsed_ = false;
  event_type_.clear();
  if (std::optional<Refusal> large = too_large(arrival)) return tl::unexpected(std::move(*large));
  return usable_key_of(arrival);
}

std::optional<Bytes> Intake::line_of(const Arrival& arrival) {
  if (!keeps_lines(order_)) return std::nullopt;
  parsed_ = false;
  if (arrival.refused || too_large(arrival)) return std::nullopt;
  const PartText ordering_key = ordering_key_of(arrival);
  if (!ordering_key) return std::nullopt;
  return line_with(arrival, ordering_key->value_or(Bytes()));
}

// Without an ordering key, only twins of the same key can be behind it.
std::optional<Bytes> Intake::line_with(const Arrival& arrival, BytesView ordering_key) const {
  if (!keeps_lines(order_)) return std::nullopt;
  if (order_->on_failure == Order::OnFailure::kBlock) return Bytes(arrival.partition);
  if (ordering_key.empty()) return std::nullopt;
  return Bytes(ordering_key);
}

Intake::PartText Intake::ordering_key_of(const Arrival& arrival) {
  if (!order_ || !order_->key) return std::optional<Bytes>();
  PartText text = text_of(*order_->key, arrival);
  if (text && *text && (*text)->size() > limits_.key) {
    return tl::unexpected(past_limit("ordering key", (*text)->size(), limits_.key));
  }
  return text;
}

Intake::KeyText Intake::usable_key_of(const Arrival& arrival) {
  KeyText key = held_key(arrival) ? KeyText(*arrival.key) : key_or_digest_of(arrival);
  if (key && key->size() > limits_.key) {
    return tl::unexpected(past_limit("key", key->size(), limits_.key));
  }
  return key;
}

// A key that looks like a body's digest could equal that of a message without a key.
Intake::KeyText Intake::key_or_digest_of(const Arrival& arrival) {
  KeyText key = key_of(arrival);
  if (recipe_.missing != KeyRecipe::Missing::kHashBody) return key;
  if (key) {
    if (!is_body_key(*key)) return key;
    return refuse(reason::kKeyInvalid, "the key has the form of a digest of a body");
  }
  if (key.error().reason != reason::kKeyMissing) return key;
  if (arrival.payload.empty()) {
    return refuse(reason::kKeyMissing, key.error().error);
  }
  return body_key(arrival.payload);
}

std::optional<Refusal> Intake::too_large(const Arrival& arrival) const {
  if (arrival.payload.size() > limits_.payload) {
    return past_limit("payload", arrival.payload.size(), limits_.payload);
  }
  const std::size_t headers = size_of(arrival.headers);
  if (headers > limits_.headers) return past_limit("headers", headers, limits_.headers);
  return std::nullopt;
}

Intake::KeyText Intake::key_of(const Arrival& arrival) {
  if (recipe_.join) return joined_key_of(arrival);
  for (const KeyPart& part : recipe_.parts) {
    PartText text = text_of(part, arrival);
    if (!text) return tl::unexpected(std::move(text.error()));
    if (*text) return std::move(**text);
  }
  std::string looked;
  for (const KeyPart& part : recipe_.parts) {
    if (!looked.empty()) looked += ", ";
    looked += part.text;
  }
  return refuse(reason::kKeyMissing, missing_at(looked, arrival));
}

Intake::KeyText Intake::joined_key_of(const Arrival& arrival) {
  constexpr char kSeparator = '|';
  Bytes key;
  for (const KeyPart& part : recipe_.parts) {
    PartText text = text_of(part, arrival);
    if (!text) return tl::unexpected(std::move(text.error()));
    if (!*text) return refuse(reason::kKeyMissing, missing_at(part.text, arrival));
    if (&part != &recipe_.parts.front()) key += kSeparator;
    append_escaped(key, **text, kSeparator);
  }
  return key;
}

Intake::PartText Intake::text_of(const KeyPart& part, const Arrival& arrival) {
  PartText text;
  if (std::holds_alternative<KeyPart::JsonPart>(part.what)) {
    text = json_text_of(part, arrival);
  } else if (const auto* header = std::get_if<KeyPart::HeaderPart>(&part.what)) {
    text = invalid_at(part, only_header(arrival.headers, header->name));
  } else if (std::holds_alternative<KeyPart::CloudEventPart>(part.what)) {
    text = event_text_of(arrival);
  } else if (std::holds_alternative<KeyPart::IdempotencyKeyPart>(part.what)) {
    text = invalid_at(part, idempotency_key(arrival.headers));
  } else if (std::holds_alternative<KeyPart::WebhookIdPart>(part.what)) {
    text = invalid_at(part, webhook_id(arrival.headers));
  } else if (std::holds_alternative<KeyPart::AutoPart>(part.what)) {
    text = auto_text_of(arrival);
  } else if (std::holds_alternative<KeyPart::BrokerKeyPart>(part.what)) {
    text = arrival.broker_key;
  } else if (std::holds_alternative<KeyPart::PositionPart>(part.what)) {
    if (!arrival.position.empty()) text = position_text(arrival);
  } else {
    text = function_text_of(part, arrival);
  }
  if (!text || !*text) return text;
  if (Result<void> usable = need_key(**text, part.text); !usable) {
    return refuse(usable.error().code, std::move(usable.error().message));
  }
  return text;
}

Intake::PartText Intake::json_text_of(const KeyPart& part, const Arrival& arrival) {
  if (arrival.payload.empty()) return std::optional<Bytes>();
  if (std::optional<Refusal> bad = parse(arrival)) return tl::unexpected(std::move(*bad));
  auto found = key_at(document_, std::get<KeyPart::JsonPart>(part.what).pointer, part.text);
  if (!found) return refuse(found.error().code, std::move(found.error().message));
  return *std::move(found);
}

Intake::PartText Intake::auto_text_of(const Arrival& arrival) {
  static const KeyPart kParts[] = {{"cloudevents", KeyPart::CloudEventPart{}},
                                   {"idempotency-key", KeyPart::IdempotencyKeyPart{}},
                                   {"webhook-id", KeyPart::WebhookIdPart{}},
                                   {"broker_key", KeyPart::BrokerKeyPart{}}};
  for (const KeyPart& part : kParts) {
    PartText text = text_of(part, arrival);
    if (!text || *text) return text;
  }
  return std::optional<Bytes>();
}

Intake::PartText Intake::event_text_of(const Arrival& arrival) {
  FoundKey binary = binary_event_key(arrival.headers);
  if (!binary) return refuse(reason::kKeyInvalid, std::move(binary.error()));
  if (*binary) return std::move(*binary);
  switch (event_format(arrival)) {
    case EventFormat::kBatch:
      return refuse(reason::kKeyInvalid, "a batch of CloudEvents has many keys; send them apart");
    case EventFormat::kStructured:
      return structured_event_of(arrival, true);
    case EventFormat::kPerhaps:
      return structured_event_of(arrival, false);
    case EventFormat::kNone:
      break;
  }
  return std::optional<Bytes>();
}

// `declared`: its content type says that it is an event. Otherwise it is one if it has the three
// members.
Intake::PartText Intake::structured_event_of(const Arrival& arrival, bool declared) {
  if (arrival.payload.empty()) return std::optional<Bytes>();
  if (std::optional<Refusal> bad = parse(arrival)) {
    if (declared) return tl::unexpected(std::move(*bad));
    return std::optional<Bytes>();
  }
  if (!declared) {
    PartText version = event_member("/specversion");
    if (!version || !*version) return std::optional<Bytes>();
  }
  PartText source = event_member("/source");
  PartText id = event_member("/id");
  if (!source) return source;
  if (!id) return id;
  if (!*source || !*id) {
    if (!declared) return std::optional<Bytes>();
    return refuse(reason::kKeyInvalid, "the CloudEvent lacks its source or its id");
  }
  if (const auto bad = unfit_key(**source)) {
    return refuse(reason::kKeyInvalid, "source of the CloudEvent " + *bad);
  }
  if (const auto bad = unfit_key(**id)) {
    return refuse(reason::kKeyInvalid, "id of the CloudEvent " + *bad);
  }
  if (PartText type = event_member("/type"); type && *type) event_type_ = std::move(**type);
  return std::optional(event_key(**source, **id));
}

// A string member of the document; nullopt where it is absent.
Intake::PartText Intake::event_member(string_view name) {
  Result<json::Scalar> found = document_.at(json::Pointer::parse(name).value());
  if (!found) return refuse(reason::kKeyInvalid, std::move(found.error().message));
  if (std::holds_alternative<json::Absent>(*found)) return std::optional<Bytes>();
  if (auto* text = std::get_if<std::string>(&*found)) return std::optional(std::move(*text));
  return refuse(reason::kKeyInvalid, fmt::format("{} of the CloudEvent is not a string", name));
}

// The user's code: any exception means that this message has no usable key.
Intake::PartText Intake::function_text_of(const KeyPart& part, const Arrival& arrival) {
  if (!recipe_.function) {
    return refuse(reason::kKeyInvalid, "no function was given that finds the key");
  }
  try {
    return recipe_.function(arrival);
  } catch (const std::exception& thrown) {
    return refuse(reason::kKeyInvalid,
                  fmt::format("the key {} threw: {}", part.text, thrown.what()));
  } catch (...) {
    return refuse(reason::kKeyInvalid, fmt::format("the key {} threw", part.text));
  }
}

std::optional<Refusal> Intake::parse(const Arrival& arrival) {
  if (parsed_) return std::nullopt;
  if (Result<void> read = parse_payload(document_, arrival.payload); !read) {
    return refusal(read.error().code, std::move(read.error().message));
  }
  parsed_ = true;
  return std::nullopt;
}

tl::expected<Fingerprint, Refusal> Intake::fingerprint_of_message(const Arrival& arrival) {
  if (recipe_.fingerprint == KeyRecipe::FingerprintOf::kNone) return Fingerprint{};
  if (recipe_.fingerprint == KeyRecipe::FingerprintOf::kBody) {
    return fingerprint_of(arrival.payload);
  }
  const bool empty = arrival.payload.empty();
  if (empty && recipe_.fingerprint == KeyRecipe::FingerprintOf::kJson) return fingerprint_of("");
  if (std::optional<Refusal> bad = empty ? std::nullopt : parse(arrival)) {
    return tl::unexpected(std::move(*bad));
  }
  if (recipe_.fingerprint == KeyRecipe::FingerprintOf::kJson) {
    return fingerprint_of(json::canonical(arrival.payload));
  }
  std::vector<Bytes> fields;
  fields.reserve(recipe_.fingerprint_fields.size());
  for (const json::Pointer& pointer : recipe_.fingerprint_fields) {
    Result<json::Scalar> found = empty ? json::Scalar(json::Absent{}) : document_.at(pointer);
    if (!found) return refuse(reason::kPayloadInvalid, std::move(found.error().message));
    fields.push_back(field_text(*found));
  }
  const std::vector<BytesView> views(fields.begin(), fields.end());
  Fingerprint fingerprint;
  fingerprint.bytes = digest::shortened(digest::sha256_parts("semel.fields", views));
  return fingerprint;
}

Message refused_message(ConsumerNumber consumer, const Arrival& arrival) {
  Message::Parts parts;
  parts.key.id = encode_refused(consumer, arrival.partition, arrival.position, arrival.payload);
  parts.fingerprint = fingerprint_of(arrival.payload);
  parts.type = type_of(arrival);
  parts.payload = arrival.payload;
  parts.headers = arrival.headers;
  parts.content_type = arrival.content_type;
  return Message(std::move(parts));
}

}  // namespace semel::core
