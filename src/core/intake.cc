#include <exception>

#include <fmt/format.h>

#include <semel/guard.h>
#include <semel/reason.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "core/key_recipe.h"

namespace semel::core {
namespace {

using std::string_view;

Refusal refusal(string_view reason, std::string error) {
  return {std::string(reason), std::move(error)};
}
tl::unexpected<Refusal> refuse(string_view reason, std::string error) {
  return tl::unexpected<Refusal>(refusal(reason, std::move(error)));
}

// Several texts in one, so that no two lists of texts meet. The escape is that of URLs.
void append_escaped(Bytes& out, BytesView text, char separator) {
  for (const char c : text) {
    if (c == '%' || c == separator) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
}

// Names the copy: partitions of one source may count alike.
Bytes position_text(const Arrival& arrival) {
  constexpr char kSeparator = '@';
  Bytes text;
  append_escaped(text, arrival.partition, kSeparator);
  text += kSeparator;
  append_escaped(text, arrival.position, kSeparator);
  return text;
}

// A field as a fingerprint sees it: its kind and what was written.
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

}  // namespace

Intake::Intake(ConsumerNumber consumer, KeyRecipe recipe, Limits limits)
    : consumer_(consumer), recipe_(std::move(recipe)), limits_(limits) {}

tl::expected<Message, Refusal> Intake::make(Arrival& arrival) {
  parsed_ = false;
  if (arrival.refused) return refuse(*arrival.refused, arrival.refused_error);
  if (std::optional<Refusal> large = too_large(arrival)) return tl::unexpected(std::move(*large));
  // What was held without a key, because it had none, is read anew.
  const bool held = arrival.key && !arrival.key->empty();
  KeyText key = held ? KeyText(*arrival.key) : key_of(arrival);
  if (!key) return tl::unexpected(std::move(key.error()));
  if (key->size() > limits_.key) {
    return tl::unexpected(past_limit("key", key->size(), limits_.key));
  }
  tl::expected<Fingerprint, Refusal> fingerprint =
      held && arrival.fingerprint ? tl::expected<Fingerprint, Refusal>(*arrival.fingerprint)
                                  : fingerprint_of_message(arrival);
  if (!fingerprint) return tl::unexpected(std::move(fingerprint.error()));

  Message::Parts parts;
  parts.key.id = recipe_.id_of(consumer_, *key);
  parts.ordering_key = *key;
  parts.key.text = std::move(*key);
  parts.fingerprint = *fingerprint;
  parts.payload = std::move(arrival.payload);
  parts.headers = std::move(arrival.headers);
  parts.content_type = arrival.content_type;
  parts.type = arrival.type;
  Message message(std::move(parts));
  message.known_json_ = parsed_;
  return message;
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
  return refuse(reason::kKeyMissing, "no key at " + looked);
}

Intake::KeyText Intake::joined_key_of(const Arrival& arrival) {
  constexpr char kSeparator = '|';
  Bytes key;
  for (const KeyPart& part : recipe_.parts) {
    PartText text = text_of(part, arrival);
    if (!text) return tl::unexpected(std::move(text.error()));
    if (!*text) return refuse(reason::kKeyMissing, "no key at " + part.text);
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
    if (const auto value = find_header(arrival.headers, header->name)) text = Bytes(*value);
  } else if (std::holds_alternative<KeyPart::BrokerKeyPart>(part.what)) {
    text = arrival.broker_key;
  } else if (std::holds_alternative<KeyPart::PositionPart>(part.what)) {
    if (!arrival.position.empty()) text = position_text(arrival);
  } else {
    text = function_text_of(part, arrival);
  }
  if (text && *text && (*text)->empty()) {
    return refuse(reason::kKeyInvalid, fmt::format("the key at {} is empty", part.text));
  }
  return text;
}

Intake::PartText Intake::json_text_of(const KeyPart& part, const Arrival& arrival) {
  if (std::optional<Refusal> bad = parse(arrival)) return tl::unexpected(std::move(*bad));
  Result<json::Scalar> found = document_.at(std::get<KeyPart::JsonPart>(part.what).pointer);
  if (!found) return refuse(reason::kKeyInvalid, std::move(found.error().message));
  if (auto* text = std::get_if<std::string>(&*found)) return std::optional(std::move(*text));
  if (const auto* integer = std::get_if<json::Integer>(&*found)) {
    return std::optional(Bytes(integer->written));
  }
  if (std::holds_alternative<json::Absent>(*found)) return std::optional<Bytes>();
  const char* const kind = std::holds_alternative<json::JsonNull>(*found) ? "null"
                           : std::holds_alternative<bool>(*found)         ? "a boolean"
                           : std::holds_alternative<json::Composite>(*found)
                               ? "an object or an array"
                               : "not an integer";
  return refuse(
      reason::kKeyInvalid,
      fmt::format("the key at {} is {}; a key is a string or an integer", part.text, kind));
}

// The user's code: whatever it throws says that this message has no usable key.
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
  if (Result<void> read = document_.parse(arrival.payload); !read) {
    return refusal(reason::kPayloadInvalid, "the payload is " + read.error().message);
  }
  parsed_ = true;
  return std::nullopt;
}

tl::expected<Fingerprint, Refusal> Intake::fingerprint_of_message(const Arrival& arrival) {
  if (recipe_.fingerprint == KeyRecipe::FingerprintOf::kNone) return Fingerprint{};
  if (recipe_.fingerprint == KeyRecipe::FingerprintOf::kBody) {
    return fingerprint_of(arrival.payload);
  }
  if (std::optional<Refusal> bad = parse(arrival)) return tl::unexpected(std::move(*bad));
  std::vector<Bytes> fields;
  fields.reserve(recipe_.fingerprint_fields.size());
  for (const json::Pointer& pointer : recipe_.fingerprint_fields) {
    Result<json::Scalar> found = document_.at(pointer);
    if (!found) return refuse(reason::kPayloadInvalid, std::move(found.error().message));
    fields.push_back(field_text(*found));
  }
  const std::vector<BytesView> views(fields.begin(), fields.end());
  Fingerprint fingerprint;
  fingerprint.bytes = digest::shortened(digest::sha256_parts("semel.fields", views));
  return fingerprint;
}

Message refused_message(ConsumerNumber consumer, Arrival& arrival) {
  Message::Parts parts;
  parts.key.id = encode_refused(consumer, arrival.partition, arrival.position, arrival.payload);
  parts.fingerprint = fingerprint_of(arrival.payload);
  parts.payload = std::move(arrival.payload);
  parts.headers = std::move(arrival.headers);
  parts.content_type = arrival.content_type;
  parts.type = arrival.type;
  return Message(std::move(parts));
}

}  // namespace semel::core
