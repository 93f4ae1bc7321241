#include "core/key_recipe.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/digest.h"
#include "core/key_encoding.h"

namespace semel::core {
namespace {

Error bad_part(std::string message) {
  return {ErrorKind::kRejected, "", std::move(message),
          "write json:/POINTER, header:NAME, cloudevents, idempotency-key, webhook-id, broker_key, "
          "auto, position or function"};
}

struct Word {
  std::string_view text;
  decltype(KeyPart::what) what;
};
const Word kWords[] = {{"broker_key", KeyPart::BrokerKeyPart{}},
                       {"position", KeyPart::PositionPart{}},
                       {"function", KeyPart::FunctionPart{}},
                       {"cloudevents", KeyPart::CloudEventPart{}},
                       {"idempotency-key", KeyPart::IdempotencyKeyPart{}},
                       {"webhook-id", KeyPart::WebhookIdPart{}},
                       {"auto", KeyPart::AutoPart{}}};

// A part's meaning without its spelling: header names ignore case.
std::string meaning(const KeyPart& part) {
  if (const auto* header = std::get_if<KeyPart::HeaderPart>(&part.what)) {
    return "header:" + ascii::lower(header->name);
  }
  return part.text;
}

// The number at the end of a position, in its only spelling, and where it begins.
struct Trailing {
  std::size_t begin;
  std::uint64_t number;
};
std::optional<Trailing> trailing_number(BytesView text) noexcept {
  std::size_t begin = text.size();
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  const std::size_t digits = text.size() - begin;
  if (digits == 0 || (digits > 1 && text[begin] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (read.ec != std::errc{}) return std::nullopt;
  return Trailing{begin, number};
}

std::optional<KeyId> position_id(ConsumerNumber consumer, BytesView key) noexcept {
  const auto trailing = trailing_number(key);
  if (!trailing) return std::nullopt;
  return encode_position(consumer, key.substr(0, trailing->begin), trailing->number);
}

}  // namespace

Result<KeyPart> KeyPart::parse(std::string_view text) {
  constexpr std::string_view kJson = "json:", kHeader = "header:";
  KeyPart part;
  part.text = text;
  if (text.starts_with(kJson)) {
    Result<json::Pointer> pointer = json::Pointer::parse(text.substr(kJson.size()));
    if (!pointer) return failure(std::move(pointer.error()));
    part.what = JsonPart{std::move(*pointer)};
  } else if (text.starts_with(kHeader)) {
    if (text.size() == kHeader.size()) return failure(bad_part("\"header:\" names no header"));
    part.what = HeaderPart{std::string(text.substr(kHeader.size()))};
  } else if (const auto word = std::ranges::find(kWords, text, &Word::text);
             word != std::end(kWords)) {
    part.what = word->what;
  } else {
    return failure(bad_part(fmt::format("\"{}\" says no way to a key", text)));
  }
  return part;
}

Bytes KeyRecipe::hash() const {
  constexpr std::string_view kModes[] = {"body", "json", "none", "fields"};
  std::vector<std::string> words;
  words.push_back(join ? "join" : "first");
  const bool unnamed =
      parts.size() == 1 && std::holds_alternative<KeyPart::AutoPart>(parts.front().what);
  for (const KeyPart& part : parts) {
    if (!unnamed) words.push_back(meaning(part));
  }
  words.push_back("");
  words.emplace_back(kModes[static_cast<std::size_t>(fingerprint)]);
  if (fingerprint == FingerprintOf::kFields) {
    for (const json::Pointer& field : fingerprint_fields) words.push_back(field.text());
  }
  const std::vector<BytesView> views(words.begin(), words.end());
  const digest::Short hash = digest::shortened(digest::sha256_parts("semel.recipe", views));
  return Bytes(digest::view(hash));
}

KeyId KeyRecipe::id_of(ConsumerNumber consumer, BytesView key) const noexcept {
  const bool only_position =
      parts.size() == 1 && std::holds_alternative<KeyPart::PositionPart>(parts.front().what);
  const auto position = only_position ? position_id(consumer, key) : std::nullopt;
  return position ? *position : encode_key(consumer, key);
}

std::vector<KeyId> possible_ids(ConsumerNumber consumer, BytesView key) {
  std::vector<KeyId> ids = {encode_key(consumer, key)};
  if (const auto position = position_id(consumer, key)) ids.push_back(*position);
  return ids;
}

}  // namespace semel::core
