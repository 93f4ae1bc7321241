// Traces: the work of a runner on deliveries, as spans for a tracing system.
//
//   class Spans final : public semel::SpanSink { … };
//   runner.trace(spans);
//
// A config with `traces:` exports the same spans by itself. docs/traces.md lists their names and
// attributes, which are those of OpenTelemetry where it has some.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <semel/standard.h>

namespace semel {

// As in W3C Trace Context; never all zero.
using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct SpanContext {
  TraceId trace_id{};
  SpanId span_id{};

  // The header `traceparent` for requests made within this span, which is sampled.
  std::string traceparent() const;
};

// The span of a delivery that is traced, which its message carries (Message::span).
struct DeliverySpan {
  SpanContext context;
  std::optional<SpanId> parent;  // in the message's traceparent; nullopt: the trace begins here
  // The runner's own mark: a delivery that is tried again in the same process ends more than once.
  mutable std::atomic<bool> ended{false};
};

struct Span {
  enum class Kind { kInternal = 1, kClient = 3, kConsumer = 5 };  // OTLP's numbers
  struct Attribute {
    std::string_view name;  // a constant
    std::variant<std::string, std::int64_t> value;
  };

  std::string name;
  Kind kind = Kind::kInternal;
  SpanContext context;
  std::optional<SpanId> parent;
  std::string trace_state;  // the message's header `tracestate`
  std::chrono::system_clock::time_point begin;
  std::chrono::system_clock::time_point end;
  // Never a payload, nor a key as it was written.
  std::vector<Attribute> attributes;
  std::string error;  // a reason or a code; empty: it did not fail
};

// Takes finished spans, children before their parents. Called from the threads that do the work:
// must return fast, must not throw, must be thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void on_span(Span span) noexcept = 0;
};

}  // namespace semel
