// A sink that keeps the spans of a test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/message.h>
#include <semel/trace.h>

#include "base/digest.h"
#include "system/mutex.h"
#include "tests/support/builders.h"

namespace semel::traces {

class KeptSpans final : public SpanSink {
 public:
  void on_span(Span span) noexcept override SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    spans_.push_back(std::move(span));
  }
  std::vector<Span> all() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return spans_;
  }
  std::vector<std::string> names() {
    std::vector<std::string> made;
    for (const Span& span : all()) made.push_back(span.name);
    return made;
  }

 private:
  system::Mutex mutex_;
  std::vector<Span> spans_ SEMEL_GUARDED_BY(mutex_);
};

// The value of an attribute; "(none)".
inline std::string attribute(const Span& span, std::string_view name) {
  const auto found = std::ranges::find(span.attributes, name, &Span::Attribute::name);
  if (found == span.attributes.end()) return "(none)";
  if (const auto* text = std::get_if<std::string>(&found->value)) return *text;
  return std::to_string(std::get<std::int64_t>(found->value));
}

inline std::string hex_id(const TraceId& id) { return digest::hex(digest::view(id)); }
inline std::string hex_id(const SpanId& id) { return digest::hex(digest::view(id)); }

// A message whose delivery is traced.
inline Message traced_message(ConsumerNumber consumer, BytesView key) {
  auto span = std::make_shared<DeliverySpan>();
  span->context.trace_id.fill(0x11);
  span->context.span_id.fill(0x22);
  Message::Parts parts = test::make_parts(consumer, key);
  parts.span = std::move(span);
  return Message(std::move(parts));
}

}  // namespace semel::traces
