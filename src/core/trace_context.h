// TraceContext: where a message stands in a trace, as the traceparent header of W3C Trace Context
// says it (https://www.w3.org/TR/trace-context/). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>

namespace semel::core {

inline constexpr std::string_view kTraceparent = "traceparent";

struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};  // never all zero
  std::array<std::uint8_t, 8> parent_id{};  // likewise: the span of the sender
  bool sampled = false;

  // 32 lower-case hexadecimal digits.
  std::string trace_id_text() const;
};

// Read strictly: version 00 has exactly its four fields, a later one may be followed by more,
// digits are lower-case. Anything else is none, as the specification asks: a new trace begins.
std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept;

// That of the message's headers; none where there is none, or where two say different things.
std::optional<TraceContext> trace_context_of(const Headers& headers) noexcept;

}  // namespace semel::core
