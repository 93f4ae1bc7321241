#include "cli/letter_line.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/digest.h"
#include "base/text_encoding.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

constexpr std::string_view kSchema = "semel.v1.dead_letter_export";

Error bad(std::string message) {
  return {ErrorKind::kRejected, "", std::move(message), "a line as semel dlq export writes it"};
}

std::string sha256_of(BytesView payload) {
  return digest::hex(digest::view(digest::sha256(payload)));
}

std::optional<Fingerprint> fingerprint_from(std::string_view hex) {
  Fingerprint made;
  if (hex.size() != 2 * made.bytes.size()) return std::nullopt;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < made.bytes.size(); ++i) {
    const auto high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    made.bytes[i] = static_cast<unsigned char>(high << 4U | low);
  }
  return made;
}

}  // namespace

json::Writer letter_line(const DeadLetter& letter) {
  json::Writer line;
  line.begin_object().member("schema", kSchema).member("id", letter.id);
  line.member("consumer", letter.consumer);
  line.bytes("key", letter.key);
  line.member("fingerprint", hex_of(letter.fingerprint.view()));
  line.bytes("reason", letter.reason);
  line.bytes("error", letter.error);
  line.member("attempts", letter.attempts).member("replayed", letter.replayed);
  line.bytes("partition", letter.partition);
  line.bytes("position", letter.position);
  line.member("first_seen_ms", letter.first_seen.time_since_epoch().count());
  line.member("dead_at_ms", letter.dead_at.time_since_epoch().count());
  line.bytes("type", letter.type);
  line.bytes("content_type", letter.content_type);
  line.name("headers").begin_array();
  for (const Header& header : letter.headers) {
    line.begin_object();
    line.bytes("name", header.name);
    line.bytes("value", header.value);
    line.end_object();
  }
  line.end_array();
  line.bytes("payload", letter.payload);
  line.member("payload_sha256", sha256_of(letter.payload)).end_object();
  return line;
}

Result<json::Scalar> LetterReader::at(const std::string& pointer) {
  return document_.at(json::Pointer::parse(pointer).value());
}

Result<std::string> LetterReader::text(const std::string& name) {
  auto found = at("/" + name);
  if (!found) return failure(bad(found.error().message));
  if (auto* text = std::get_if<std::string>(&*found)) return std::move(*text);
  return failure(bad(fmt::format("\"{}\" is not there, or not a string", name)));
}

// The text, or the bytes that its base64 encodes.
Result<Bytes> LetterReader::bytes(const std::string& name) {
  auto coded = at("/" + name + "_base64");
  if (!coded) return failure(bad(coded.error().message));
  const auto* base64 = std::get_if<std::string>(&*coded);
  if (base64 == nullptr) return text(name);
  auto bytes = semel::text::from_base64(*base64);
  if (bytes) return std::move(*bytes);
  return failure(bad(fmt::format("\"{}_base64\" is not base64", name)));
}

Result<std::int64_t> LetterReader::number(const std::string& name) {
  auto found = at("/" + name);
  if (!found) return failure(bad(found.error().message));
  const auto* number = std::get_if<json::Integer>(&*found);
  if (number != nullptr && number->value && *number->value >= 0) return *number->value;
  return failure(bad(fmt::format("\"{}\" is not there, or not a whole number", name)));
}

Result<Headers> LetterReader::headers() {
  Headers headers;
  for (std::size_t i = 0;; ++i) {
    const std::string place = fmt::format("headers/{}", i);
    const auto there = at("/" + place);
    if (!there) return failure(bad(there.error().message));
    if (std::holds_alternative<json::Absent>(*there)) return headers;
    auto name = bytes(place + "/name");
    if (!name) return failure(std::move(name.error()));
    auto value = bytes(place + "/value");
    if (!value) return failure(std::move(value.error()));
    headers.push_back({std::move(*name), std::move(*value)});
  }
}

Result<DeadLetter> LetterReader::read(std::string_view line) {
  if (auto parsed = document_.parse(line); !parsed) return failure(bad(parsed.error().message));
  auto schema = text("schema");
  if (!schema || *schema != kSchema) {
    return failure(bad(fmt::format("its \"schema\" is not {}", kSchema)));
  }
  DeadLetter letter;
  const std::pair<const char*, std::string*> texts[] = {
      {"consumer", &letter.consumer},   {"key", &letter.key},
      {"reason", &letter.reason},       {"error", &letter.error},
      {"partition", &letter.partition}, {"position", &letter.position},
      {"type", &letter.type},           {"content_type", &letter.content_type},
      {"payload", &letter.payload}};
  for (const auto& [name, to] : texts) {
    auto read = bytes(name);
    if (!read) return failure(std::move(read.error()));
    *to = std::move(*read);
  }
  std::int64_t first_seen = 0, dead_at = 0, attempts = 0, replayed = 0;
  const std::pair<const char*, std::int64_t*> numbers[] = {{"first_seen_ms", &first_seen},
                                                           {"dead_at_ms", &dead_at},
                                                           {"attempts", &attempts},
                                                           {"replayed", &replayed}};
  for (const auto& [name, to] : numbers) {
    auto read = number(name);
    if (!read) return failure(std::move(read.error()));
    *to = *read;
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (attempts > kMost || replayed > kMost) return failure(bad("a count is out of range"));
  letter.attempts = static_cast<int>(attempts);
  letter.replayed = static_cast<int>(replayed);
  letter.first_seen = StoreTime(std::chrono::milliseconds(first_seen));
  letter.dead_at = StoreTime(std::chrono::milliseconds(dead_at));
  const auto fingerprint = fingerprint_from(text("fingerprint").value_or(""));
  if (!fingerprint) return failure(bad("\"fingerprint\" is not there, or not one"));
  letter.fingerprint = *fingerprint;
  auto headers = this->headers();
  if (!headers) return failure(std::move(headers.error()));
  letter.headers = std::move(*headers);
  if (text("payload_sha256").value_or("") != sha256_of(letter.payload)) {
    return failure({ErrorKind::kRejected, "",
                    "the payload is not the one that was exported: its payload_sha256 differs",
                    "import the letter as it was written, then semel dlq edit ID"});
  }
  return letter;
}

}  // namespace semel::cli
