// Health of a run, as `semel status` asks for it together with the figures of its sources.
#pragma once

#include <string_view>
#include <vector>

#include "tap/figures.h"
#include "telemetry/health_observer.h"

namespace semel::cli {

// The `source` of its figures. No source has this name.
inline constexpr std::string_view kRunHealth = "run";
inline constexpr std::string_view kTroubleFigure = "trouble";
inline constexpr std::string_view kLastEndFigure = "last_end";

// Each outage that lasts, since when (milliseconds since 1970), and when a delivery last ended.
tap::Figures health_figures(const std::vector<telemetry::ConsumerHealth>& health);

}  // namespace semel::cli
