#include "core/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/ascii.h"
#include "base/digest.h"

namespace semel {

std::string SpanContext::traceparent() const {
  return "00-" + digest::hex(digest::view(trace_id)) + "-" + digest::hex(digest::view(span_id)) +
         "-01";
}

}  // namespace semel

namespace semel::core {

namespace {

constexpr std::size_t kLength = 55;  // of version 00: 2-32-16-2 digits
constexpr std::string_view kTracestate = "tracestate";
constexpr std::size_t kLongestState = 512;  // bytes that the specification asks everyone to pass on
constexpr std::uint8_t kForbiddenVersion = 0xFF;
constexpr std::uint8_t kSampledFlag = 0x01;

int lower_hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The bytes that the field's digits encode; false where one is no digit.
template <std::size_t N>
bool read_field(std::string_view text, std::size_t at, std::array<std::uint8_t, N>& out) noexcept {
  for (std::size_t i = 0; i < N; ++i) {
    const int high = lower_hex_digit(text[at + 2 * i]);
    const int low = lower_hex_digit(text[at + 2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <std::size_t N>
bool is_zero(const std::array<std::uint8_t, N>& bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

// A tracestate means nothing without the traceparent that it came with, and may be forged.
bool goes_on(const Message& message, std::string_view state) noexcept {
  return message.span()->parent && state.size() <= kLongestState &&
         std::ranges::all_of(state, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string TraceContext::trace_id_text() const { return digest::hex(digest::view(trace_id)); }

std::optional<TraceContext> parse_traceparent(std::string_view text) noexcept {
  constexpr std::size_t kTraceAt = 3, kParentAt = 36, kFlagsAt = 53;
  if (text.size() < kLength) return std::nullopt;
  for (const std::size_t dash : {kTraceAt - 1, kParentAt - 1, kFlagsAt - 1}) {
    if (text[dash] != '-') return std::nullopt;
  }
  TraceContext context;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  if (!read_field(text, 0, version) || !read_field(text, kTraceAt, context.trace_id) ||
      !read_field(text, kParentAt, context.parent_id) || !read_field(text, kFlagsAt, flags)) {
    return std::nullopt;
  }
  if (version[0] == kForbiddenVersion) return std::nullopt;
  if (version[0] == 0 && text.size() != kLength) return std::nullopt;
  if (text.size() > kLength && text[kLength] != '-') return std::nullopt;
  if (is_zero(context.trace_id) || is_zero(context.parent_id)) return std::nullopt;
  context.sampled = (flags[0] & kSampledFlag) != 0;
  return context;
}

std::optional<TraceContext> trace_context_of(const Headers& headers) noexcept {
  std::optional<std::string_view> said;
  for (const Header& header : headers) {
    if (!ascii::alike(header.name, kTraceparent)) continue;
    if (said && *said != header.value) return std::nullopt;
    said = header.value;
  }
  return said ? parse_traceparent(*said) : std::nullopt;
}

std::optional<Bytes> outgoing_traceparent(const Message& message) {
  if (message.span() != nullptr) return message.span()->context.traceparent();
  const auto brought = message.header(kTraceparent);
  return brought ? std::optional(Bytes(*brought)) : std::nullopt;
}

Headers outgoing_headers(const Message& message) {
  if (message.span() == nullptr) return message.headers();
  Headers made;
  made.reserve(message.headers().size() + 1);
  std::ranges::copy_if(message.headers(), std::back_inserter(made), [&](const Header& header) {
    if (ascii::alike(header.name, kTracestate)) return goes_on(message, header.value);
    return !ascii::alike(header.name, kTraceparent);
  });
  add_traceparent(made, message);
  return made;
}

void add_traceparent(Headers& headers, const Message& message) {
  if (message.span() == nullptr || find_header(headers, kTraceparent)) return;
  headers.push_back({std::string(kTraceparent), message.span()->context.traceparent()});
}

}  // namespace semel::core
