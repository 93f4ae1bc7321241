// Draws the ages of duplicates against the retention of records. Pure; needs no script.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "telemetry/metric_family.h"

namespace semel::admin {

// Duplicates of a consumer that this process has seen.
struct DuplicateAges {
  telemetry::HistogramValue ages;  // seconds since their effect was recorded
  std::uint64_t near_ttl = 0;      // older than most of the ttl
};

// A sentence on what the ages mean for the ttl. `ttl`: nullopt where records are kept for ever.
std::string verdict_of(const DuplicateAges& seen, std::optional<std::chrono::milliseconds> ttl);

// A table with a bar for each age and a line at the ttl; empty where no duplicate was seen.
std::string age_picture(const telemetry::HistogramValue& ages,
                        std::optional<std::chrono::milliseconds> ttl);

}  // namespace semel::admin
