// Traces: the tracing of a run, from its config or the program's own sink.
#pragma once

#include <memory>
#include <vector>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/result.h>
#include <semel/trace.h>

#include "config/config.h"
#include "telemetry/metric_family.h"

namespace semel::compose {

struct ServiceOptions;

// The tracing of a program that embeds Semel, instead of the config's `traces:`.
struct OwnTraces {
  SpanSink* sink = nullptr;  // borrowed; null: none
  double sample = 1.0;
};

// Thread-safe, except its construction and end().
class Traces {
 public:
  // Null where nothing is traced: neither the config nor the program asks for it, or it is a dry
  // run, whose deliveries do not end. Troubles with the export are reported to the observers of
  // `options`, which are borrowed. Errors: R350.
  static Result<std::unique_ptr<Traces>> open(const config::Config& config, const OwnTraces& own,
                                              const ServiceOptions& options);
  virtual ~Traces() = default;

  // Makes the service traced; this lives as long as the service.
  virtual void watch(ServiceOptions& options) = 0;
  // The counts of exported and of dropped spans.
  virtual std::vector<telemetry::MetricFamily> families() const = 0;
  // After the run: exports the rest, within a limited time.
  virtual void end() = 0;
};

}  // namespace semel::compose
