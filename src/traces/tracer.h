// Tracer: makes the spans of a run's deliveries: their beginning and their end.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/trace.h>

#include "core/trace_context.h"
#include "system/mutex.h"
#include "traces/span_ids.h"

namespace semel::traces {

struct TracerOptions {
  std::string service;
  double sample = 1.0;  // of the messages that came without a traceparent
};

// Thread-safe. Without memory a span is lost; its delivery is not affected.
class Tracer final : public Observer {
 public:
  // `sink` is borrowed.
  Tracer(SpanSink& sink, TracerOptions options, Random& random);

  // Begins the spans of a consumer's deliveries. The tracer outlives it.
  //
  // A message with a valid traceparent continues that trace if its sampled flag is set. Any other
  // message begins a trace whose id is made of service, consumer and key, so that all deliveries of
  // one message, including retries and duplicates, are in one trace.
  core::StartTrace start_of(const std::string& consumer);

  // Adds a finished child of a delivery's span: `took`, until now.
  void add_child(const DeliverySpan& parent, Span span,
                 std::chrono::steady_clock::duration took) noexcept;

  void on_consumer(const ConsumerInfo& consumer) noexcept override;
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override;

 private:
  std::shared_ptr<const DeliverySpan> start(std::string_view consumer, BytesView key_id,
                                            const Headers& headers);
  void end_delivery(const Message& message, Span span);
  std::string source_of(std::string_view consumer, const Arrival& arrival) SEMEL_EXCLUDES(mutex_);
  Span process_span(std::string_view consumer, const Arrival& arrival, std::string_view outcome,
                    std::chrono::nanoseconds took);

  SpanSink& sink_;
  const std::string service_;
  const Sampler sampler_;
  SpanIds ids_;
  system::Mutex mutex_;
  std::map<std::string, std::vector<std::string>, std::less<>> sources_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::traces
