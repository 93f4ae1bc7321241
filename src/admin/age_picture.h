// The picture of how old duplicates are against how long records are kept. Pure; needs no script.
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

// Says in a sentence what the ages mean for the ttl. `ttl`: none where records are kept for ever.
std::string verdict_of(const DuplicateAges& seen, std::optional<std::chrono::milliseconds> ttl);

// A table with a bar for each age and a line where the ttl stands; empty where none was seen.
std::string age_picture(const telemetry::HistogramValue& ages,
                        std::optional<std::chrono::milliseconds> ttl);

}  // namespace semel::admin
