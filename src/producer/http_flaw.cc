#include "producer/http_flaw.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/printable.h"
#include "core/standard_keys.h"

namespace semel::producer {

namespace {

constexpr std::string_view kContentType = "content-type";
constexpr std::string_view kIdempotencyKey = "idempotency-key";
constexpr std::string_view kWebhookId = "webhook-id";

bool passed_on_by_name(std::string_view name) {
  return core::is_header_name(name) && core::is_of_event_or_trace(name);
}

// Blanks at the ends are no part of a value in HTTP.
bool arrives_as_it_is(BytesView value) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  if (!value.empty() && (blank(value.front()) || blank(value.back()))) return false;
  return std::ranges::all_of(value, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

// Whether the header is one that the message was given its key by.
bool is_key(const Header& header, BytesView key) {
  const Headers alone = {header};
  const auto found = ascii::alike(header.name, kIdempotencyKey) ? core::idempotency_key(alone)
                                                                : core::webhook_id(alone);
  return found && *found && **found == key;
}

// In words that follow "which".
std::optional<std::string> header_flaw(const Header& header, const OutgoingMessage& message,
                                       const core::HttpSpec& to) {
  const std::string& name = header.name;
  if (ascii::alike(name, kIdempotencyKey) || ascii::alike(name, kWebhookId)) {
    if (is_key(header, message.key.value_or(Bytes()))) return std::nullopt;
    return "Semel sends itself, and which has another value than the key";
  }
  if (!passed_on_by_name(name)) {
    if (auto flaw = core::header_flaw(name)) return flaw;
  }
  if (find_header(to.headers, name)) return "HttpEndpoint::headers sets";
  if (ascii::alike(name, "authorization") && core::url_has_credentials(to.url)) {
    return "the user in the URL sets";
  }
  if (ascii::alike(name, kContentType) && !message.content_type.empty() &&
      header.value != message.content_type) {
    return "differs from its content_type";
  }
  // The values of CloudEvents are percent-encoded.
  if (!ascii::begins_alike(name, "ce-") && !arrives_as_it_is(header.value)) {
    return "has a value that is not printable ASCII, or begins or ends with a blank";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> http_flaw(const OutgoingMessage& message, const core::HttpSpec& to) {
  for (const Header& header : message.headers) {
    if (const auto flaw = header_flaw(header, message, to)) {
      return fmt::format("a header \"{}\", which {}", printable_text(header.name), *flaw);
    }
  }
  const std::string told = core::event_type(message.headers);
  if (!message.type.empty() && !told.empty() && told != message.type) {
    return fmt::format("the type \"{}\", and its header ce-type says \"{}\"",
                       printable_text(message.type), printable_text(told));
  }
  return std::nullopt;
}

}  // namespace semel::producer
