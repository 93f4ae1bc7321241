// The health of a run, which `semel status` reads together with the figures of its sources.
#pragma once

#include <string_view>
#include <vector>

#include "tap/figures.h"
#include "telemetry/health_observer.h"

namespace semel::cli {

// The `source` of the health figures. No real source has this name.
inline constexpr std::string_view kRunHealth = "run";
inline constexpr std::string_view kTroubleFigure = "trouble";
inline constexpr std::string_view kLastEndFigure = "last_end";

// For each current outage, since when (milliseconds since 1970); and when a delivery last ended.
tap::Figures health_figures(const std::vector<telemetry::ConsumerHealth>& health);

}  // namespace semel::cli
