#include "compose/traces.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/digest.h"
#include "compose/compose.h"
#include "traces/span_exporter.h"
#include "traces/span_post.h"
#include "traces/tracer.h"

namespace semel::compose {

namespace {

using traces::SpanExporter;

// How long a stop waits for the last spans.
constexpr std::chrono::milliseconds kLastSpans{5'000};
// Replaces the consumer's name in reports about the export.
constexpr std::string_view kOfTheExport = "traces";

// Distinguishes this run from the others of its service.
std::string instance_id(Random& random) {
  const std::uint64_t bits[] = {random.next(), random.next()};
  return digest::hex({reinterpret_cast<const char*>(bits), sizeof bits});
}

class RunTraces final : public Traces {
 public:
  RunTraces(SpanSink& sink, traces::TracerOptions options, Random& random)
      : tracer_(sink, std::move(options), random) {}
  RunTraces(std::unique_ptr<SpanExporter> exporter, traces::TracerOptions options, Random& random)
      : exporter_(std::move(exporter)), tracer_(*exporter_, std::move(options), random) {}

  void watch(ServiceOptions& options) override {
    options.observers.push_back(&tracer_);
    options.tracer = &tracer_;
    options.run_traces = this;
  }
  std::vector<telemetry::MetricFamily> families() const override;
  void end() override {
    if (exporter_ != nullptr) exporter_->end(kLastSpans);
  }

 private:
  const std::unique_ptr<SpanExporter> exporter_;  // null: the program has a sink of its own
  traces::Tracer tracer_;
};

std::vector<telemetry::MetricFamily> RunTraces::families() const {
  if (exporter_ == nullptr) return {};
  const SpanExporter::Counts counts = exporter_->counts();
  telemetry::MetricFamily exported{"semel_spans_exported",
                                   "Spans that the collector has taken.",
                                   telemetry::MetricType::kCounter,
                                   {}};
  exported.samples.push_back({{}, static_cast<double>(counts.exported), {}});
  telemetry::MetricFamily dropped{"semel_spans_dropped",
                                  "Spans that were lost: no room in the queue, not wanted by the "
                                  "collector, or kept from it for too long.",
                                  telemetry::MetricType::kCounter,
                                  {}};
  for (std::size_t i = 0; i < counts.dropped.size(); ++i) {
    dropped.samples.push_back(
        {{{"reason", SpanExporter::kDroppedWords[i]}}, static_cast<double>(counts.dropped[i]), {}});
  }
  return {std::move(exported), std::move(dropped)};
}

}  // namespace

Result<std::unique_ptr<Traces>> Traces::open(const config::Config& config, const OwnTraces& own,
                                             const ServiceOptions& options) {
  if (options.dry_run) return nullptr;
  Random& random =
      *(options.environment == nullptr ? system_environment() : *options.environment).random;
  if (own.sink != nullptr) {
    const std::string service = config.traces ? config.traces->service : core::TracesSpec().service;
    return std::make_unique<RunTraces>(*own.sink, traces::TracerOptions{service, own.sample},
                                       random);
  }
  if (!config.traces) return nullptr;
  auto post = traces::make_http_post(*config.traces);
  if (!post) return failure(std::move(post.error()));
  traces::ExporterOptions exporter;
  exporter.queue = config.traces->queue;
  auto tell = [told = options.observers](const std::string& text) {
    for (Observer* const observer : told) observer->on_notice(kOfTheExport, text);
  };
  return std::make_unique<RunTraces>(
      std::make_unique<SpanExporter>(
          *std::move(post), traces::TracedResource{config.traces->service, instance_id(random)},
          exporter, random, std::move(tell)),
      traces::TracerOptions{config.traces->service, config.traces->sample}, random);
}

}  // namespace semel::compose
