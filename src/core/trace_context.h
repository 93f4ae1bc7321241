// TraceContext: a message's place in a trace, from the traceparent header of W3C Trace Context
// (https://www.w3.org/TR/trace-context/). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/key.h>
#include <semel/message.h>
#include <semel/trace.h>

namespace semel::core {

inline constexpr std::string_view kTraceparent = "traceparent";

struct TraceContext {
  TraceId trace_id{};  // never all zero
  SpanId parent_id{};  // likewise: the span of the sender
  bool sampled = false;

  // 32 lower-case hexadecimal digits.
  std::string trace_id_text() const;
};

// Parses strictly: version 00 has exactly its four fields, a later version may have more, digits
// are lower-case. Anything else gives nullopt, as the specification asks: a new trace begins.
std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept;

// The context in a message's headers; nullopt where there is none, or two different ones.
std::optional<TraceContext> trace_context_of(const Headers& headers) noexcept;

// Starts the span for the delivery of a message with this key and these headers; null: it is not
// traced. May throw std::bad_alloc.
using StartTrace =
    std::function<std::shared_ptr<const DeliverySpan>(const Key& key, const Headers& headers)>;

// The traceparent for everything done on behalf of a message: its span's where it is traced, else
// the one that it came with, unchecked.
std::optional<Bytes> outgoing_traceparent(const Message& message);
// The message's headers, with that traceparent.
Headers outgoing_headers(const Message& message);
// Adds the traceparent of a traced message to headers that have none.
void add_traceparent(Headers& headers, const Message& message);

}  // namespace semel::core
