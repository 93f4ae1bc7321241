#include "core/json_key.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <semel/json.h>
#include <semel/reason.h>

namespace semel {
namespace core {
namespace {

Error unusable(std::string_view reason, std::string message) {
  return {ErrorKind::kRejected, std::string(reason), std::move(message), {}};
}

// A scalar that is no key.
const char* name_of_no_key(const json::Scalar& scalar) noexcept {
  if (std::holds_alternative<json::JsonNull>(scalar)) return "null";
  if (std::holds_alternative<bool>(scalar)) return "a boolean";
  if (std::holds_alternative<json::Composite>(scalar)) return "an object or an array";
  return "not an integer";
}

}  // namespace

Result<std::optional<Bytes>> key_at(const json::Document& document, const json::Pointer& pointer,
                                    std::string_view place) {
  Result<json::Scalar> found = document.at(pointer);
  if (!found) return failure(unusable(reason::kKeyInvalid, std::move(found.error().message)));
  if (auto* text = std::get_if<std::string>(&*found)) return std::optional(std::move(*text));
  if (const auto* integer = std::get_if<json::Integer>(&*found)) {
    return std::optional(Bytes(integer->written));
  }
  if (std::holds_alternative<json::Absent>(*found)) return std::optional<Bytes>();
  return failure(unusable(reason::kKeyInvalid,
                          fmt::format("the key at {} is {}; a key is a string or an integer", place,
                                      name_of_no_key(*found))));
}

Result<void> need_key(BytesView key, std::string_view place) {
  if (!key.empty()) return {};
  return failure(unusable(reason::kKeyInvalid, fmt::format("the key at {} is empty", place)));
}

Result<void> parse_payload(json::Document& document, BytesView payload) {
  Result<void> read = document.parse(payload);
  if (read) return read;
  return failure(unusable(reason::kPayloadInvalid, "the payload is " + read.error().message));
}

}  // namespace core

Result<std::optional<Bytes>> json_at(BytesView payload, std::string_view pointer) {
  const Result<json::Pointer> parsed = json::Pointer::parse(pointer);
  if (!parsed) return failure(parsed.error());
  if (payload.empty()) return std::optional<Bytes>();
  thread_local json::Document document;
  if (auto read = core::parse_payload(document, payload); !read) {
    return failure(std::move(read.error()));
  }
  const std::string place = fmt::format("json:{}", pointer);
  auto key = core::key_at(document, *parsed, place);
  if (!key || !*key) return key;
  if (auto usable = core::need_key(**key, place); !usable) {
    return failure(std::move(usable.error()));
  }
  return key;
}

}  // namespace semel
