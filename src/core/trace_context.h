// TraceContext: where a message stands in a trace, as the traceparent header of W3C Trace Context
// says it (https://www.w3.org/TR/trace-context/). Pure.
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

// Read strictly: version 00 has exactly its four fields, a later one may be followed by more,
// digits are lower-case. Anything else is none, as the specification asks: a new trace begins.
std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept;

// That of the message's headers; none where there is none, or where two say different things.
std::optional<TraceContext> trace_context_of(const Headers& headers) noexcept;

// The span of the delivery of a message with this key and these headers; null: it is not traced.
// May throw std::bad_alloc.
using StartTrace =
    std::function<std::shared_ptr<const DeliverySpan>(const Key& key, const Headers& headers)>;

// The traceparent of all that is done on behalf of a message: its span's where it is traced, else
// the one that it came with, unchecked.
std::optional<Bytes> outgoing_traceparent(const Message& message);
// The message's headers, with that traceparent.
Headers outgoing_headers(const Message& message);
// Adds the traceparent of a traced message to headers that have none.
void add_traceparent(Headers& headers, const Message& message);

}  // namespace semel::core
