#include "traces/otlp_json.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <variant>

#include <semel/version.h>

#include "base/digest.h"
#include "base/json.h"

namespace semel::traces {

namespace {

constexpr int kSampledFlags = 1;
constexpr int kStatusError = 2;

void add_attribute(json::Writer& writer, std::string_view name, std::string_view value) {
  writer.begin_object().member("key", name);
  writer.name("value").begin_object().member("stringValue", value).end_object().end_object();
}

void add_attribute(json::Writer& writer, std::string_view name, std::int64_t value) {
  writer.begin_object().member("key", name);
  writer.name("value").begin_object().member("intValue", std::to_string(value));
  writer.end_object().end_object();
}

void add_resource(json::Writer& writer, const TracedResource& resource) {
  writer.name("resource").begin_object().name("attributes").begin_array();
  add_attribute(writer, "service.name", std::string_view(resource.service));
  add_attribute(writer, "service.instance.id", std::string_view(resource.instance));
  add_attribute(writer, "telemetry.sdk.name", std::string_view("semel"));
  add_attribute(writer, "telemetry.sdk.language", std::string_view("cpp"));
  add_attribute(writer, "telemetry.sdk.version", std::string_view(version()));
  writer.end_array().end_object();
}

std::string nanoseconds_text(std::chrono::system_clock::time_point time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

void add_span(json::Writer& writer, const Span& span) {
  writer.begin_object();
  writer.member("traceId", digest::hex(digest::view(span.context.trace_id)));
  writer.member("spanId", digest::hex(digest::view(span.context.span_id)));
  if (span.parent) writer.member("parentSpanId", digest::hex(digest::view(*span.parent)));
  if (!span.trace_state.empty()) writer.member("traceState", span.trace_state);
  writer.member("flags", kSampledFlags);
  writer.member("name", span.name).member("kind", static_cast<int>(span.kind));
  writer.member("startTimeUnixNano", nanoseconds_text(span.begin));
  writer.member("endTimeUnixNano", nanoseconds_text(span.end));
  writer.name("attributes").begin_array();
  for (const Span::Attribute& attribute : span.attributes) {
    std::visit([&](const auto& value) { add_attribute(writer, attribute.name, value); },
               attribute.value);
  }
  if (!span.error.empty()) add_attribute(writer, "error.type", std::string_view(span.error));
  writer.end_array();
  if (!span.error.empty()) {
    writer.name("status").begin_object().member("code", kStatusError);
    writer.member("message", span.error).end_object();
  }
  writer.end_object();
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, const TracedResource& resource) {
  json::Writer writer;
  writer.begin_object().name("resourceSpans").begin_array().begin_object();
  add_resource(writer, resource);
  writer.name("scopeSpans").begin_array().begin_object();
  writer.name("scope").begin_object().member("name", "semel").member("version", version());
  writer.end_object().name("spans").begin_array();
  for (const Span& span : spans) add_span(writer, span);
  writer.end_array().end_object().end_array().end_object().end_array().end_object();
  return writer.text();
}

PartialSuccess partial_success(BytesView response) {
  static const auto kRejected = json::Pointer::parse("/partialSuccess/rejectedSpans");
  static const auto kMessage = json::Pointer::parse("/partialSuccess/errorMessage");
  PartialSuccess made;
  json::Document document;
  if (response.empty() || !document.parse(response)) return made;
  if (const auto found = document.at(*kRejected)) {
    // A number of 64 bits is a text in protobuf's JSON; a number is read as well.
    std::string written;
    if (const auto* text = std::get_if<std::string>(&*found)) written = *text;
    if (const auto* number = std::get_if<json::Integer>(&*found)) written = number->written;
    const std::int64_t count = std::strtoll(written.c_str(), nullptr, 10);
    made.rejected = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  }
  if (const auto found = document.at(*kMessage)) {
    if (const auto* text = std::get_if<std::string>(&*found)) made.message = *text;
  }
  return made;
}

}  // namespace semel::traces
