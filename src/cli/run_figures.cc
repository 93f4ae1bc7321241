#include "cli/run_figures.h"

#include <string>
#include <utility>

namespace semel::cli {

tap::Figures health_figures(const std::vector<telemetry::ConsumerHealth>& health) {
  tap::Figures figures;
  const auto add = [&](const std::string& consumer, SourceFigure figure) {
    figures.all.push_back({consumer, std::string(kRunHealth), std::move(figure)});
  };
  for (const telemetry::ConsumerHealth& one : health) {
    if (one.last_ended) {
      add(one.consumer,
          {std::string(kLastEndFigure), {}, one.last_ended->time_since_epoch().count(), {}});
    }
    for (const telemetry::Outage& outage : one.outages) {
      add(one.consumer, {std::string(kTroubleFigure), outage.component,
                         outage.since.time_since_epoch().count(), outage.error});
    }
  }
  return figures;
}

}  // namespace semel::cli
