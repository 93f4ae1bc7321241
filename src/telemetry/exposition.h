// Writes metric families in the formats that Prometheus scrapes.
//
// Rules: the exposition formats of prometheus.io, 0.0.4 and (specs/om) 1.0.
#pragma once

#include <span>
#include <string>

#include <semel/metrics.h>

#include "telemetry/metric_family.h"

namespace semel::telemetry {

// A family without samples is left out. Names of families and labels must be valid.
std::string exposition(std::span<const MetricFamily> families, MetricsFormat format);

}  // namespace semel::telemetry
