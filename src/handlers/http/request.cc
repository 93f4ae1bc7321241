#include "handlers/http/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/iso_time.h"
#include "base/text_encoding.h"
#include "core/trace_context.h"

namespace semel::handlers {

namespace {

using std::chrono::duration_cast;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

bool printable(char c) noexcept { return c >= 0x20 && c <= 0x7E; }

bool holds(std::span<const Header> headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const Header& header) { return ascii::alike(header.name, name); });
}

std::string byte_sequence(BytesView key) { return ":" + text::base64(key) + ":"; }

}  // namespace

std::string idempotency_key(BytesView key, core::HttpSpec::KeyStyle style) {
  if (!std::all_of(key.begin(), key.end(), printable)) return byte_sequence(key);
  if (style == core::HttpSpec::KeyStyle::kBare) {
    const bool trimmed = key.empty() || key.front() == ' ' || key.back() == ' ';
    const bool looks_encoded = key.starts_with(':') && key.ends_with(':');
    return trimmed || looks_encoded ? byte_sequence(key) : std::string(key);
  }
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string webhook_id(std::string_view consumer, BytesView key) {
  const BytesView parts[] = {consumer, key};
  const digest::Short id = digest::shortened(digest::sha256_parts("webhook-id", parts));
  return "msg_" + text::base32(digest::view(id));
}

std::string field_value(BytesView value) {
  if (std::all_of(value.begin(), value.end(), printable)) return std::string(value);
  std::string safe;
  for (const char c : value) {
    safe +=
        printable(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return safe;
}

RequestPlan::RequestPlan(const core::HttpSpec& spec)
    : consumer_(spec.consumer),
      source_(spec.source),
      has_body_(spec.method != "DELETE"),
      every_header_(spec.every_header),
      key_style_(spec.key_style),
      fixed_(spec.headers) {
  for (const std::string& secret : spec.signing_secrets) {
    signing_keys_.push_back(core::signing_key(secret).value());
  }
}

std::string RequestPlan::signature(std::string_view id, std::string_view timestamp,
                                   BytesView payload) const {
  const std::string content = fmt::format("{}.{}.{}", id, timestamp, payload);
  std::string signatures;
  for (const Bytes& key : signing_keys_) {
    const digest::Digest made = digest::hmac_sha256(key, content);
    if (!signatures.empty()) signatures += ' ';
    signatures += "v1," + text::base64(digest::view(made));
  }
  return signatures;
}

BytesView RequestPlan::body(const Message& message) const noexcept {
  return has_body_ ? BytesView(message.payload()) : BytesView();
}

void RequestPlan::pass_on(const Message& message, Headers& made) const {
  constexpr std::string_view kType = "ce-type";
  const std::size_t of_the_plan = made.size();
  const bool traced = message.span() != nullptr;
  const Headers with_span = traced ? core::outgoing_headers(message) : Headers();
  for (const Header& header : traced ? with_span : message.headers()) {
    if (!core::is_header_name(header.name)) continue;
    if (!every_header_ && !core::is_of_event_or_trace(header.name)) continue;
    // A header that a producer's message has twice is sent twice.
    const std::span<const Header> before(made.data(), every_header_ ? of_the_plan : made.size());
    if (!holds(before, header.name)) made.push_back({header.name, field_value(header.value)});
  }
  if (every_header_ && !message.type().empty() && !holds(made, kType)) {
    made.push_back({std::string(kType), field_value(message.type())});
  }
}

Headers RequestPlan::headers(const Message& message, const Attempt& attempt,
                             system_clock::time_point now) const {
  Headers made = fixed_;
  const BytesView type = message.content_type().empty()
                             ? message.header("content-type").value_or(BytesView())
                             : BytesView(message.content_type());
  if (has_body_ && !type.empty() && !holds(made, "content-type")) {
    made.push_back({"content-type", field_value(type)});
  }
  made.push_back({"idempotency-key", idempotency_key(message.key().text, key_style_)});
  const std::string id = webhook_id(consumer_, message.key().text);
  const std::string timestamp =
      std::to_string(duration_cast<seconds>(now.time_since_epoch()).count());
  made.push_back({"webhook-id", id});
  made.push_back({"webhook-timestamp", timestamp});
  if (!signing_keys_.empty()) {
    made.push_back({"webhook-signature", signature(id, timestamp, body(message))});
  }
  pass_on(message, made);
  made.push_back({"semel-consumer", field_value(consumer_)});
  made.push_back({"semel-attempt", std::to_string(attempt.number)});
  made.push_back({"semel-delivery", field_value(attempt.position)});
  made.push_back({"semel-first-seen", iso_time(floor<milliseconds>(now - attempt.since_first))});
  made.push_back({"semel-source", field_value(source_)});
  return made;
}

}  // namespace semel::handlers
