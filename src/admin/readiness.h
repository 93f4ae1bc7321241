// Readiness: whether a run takes messages, and what prevents it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/error.h>
#include <semel/spi/source.h>

#include "base/iso_time.h"
#include "telemetry/health_observer.h"

namespace semel::admin {

struct SourceReadiness {
  std::string source;  // "kafka"
  std::vector<SourceFigure> figures;
};

struct ConsumerReadiness {
  telemetry::ConsumerHealth health;
  std::vector<SourceReadiness> sources;
  // "starting", "draining" or "drained": the consumer's own phase, while the run continues; empty:
  // as the run is.
  std::string phase = {};
};

// The listener's renewed certificate cannot be used; the previous one stays in use.
struct CertificateTrouble {
  Error error;
  UtcTime since;
};

struct Readiness {
  enum class Phase { kStarting, kRunning, kDraining };
  Phase phase = Phase::kStarting;
  std::vector<ConsumerReadiness> consumers;
  std::optional<CertificateTrouble> certificate = {};  // no outage: requests are answered

  // Running, without a present outage. A consumer that is drained or restarted is no outage.
  bool ready() const noexcept;
  // "starting", "ready", "not_ready", "draining".
  const char* word() const noexcept;
  // The same for one consumer of it.
  const char* word(const ConsumerReadiness& consumer) const noexcept;
  // The body of /readyz: outages and the sources' figures for each consumer.
  std::string json() const;
};

}  // namespace semel::admin
