// Times as log lines and answers write them. Pure.
#pragma once

#include <chrono>
#include <string>

namespace semel {

using UtcTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

// "2026-03-01T12:00:00.250Z": ISO 8601, UTC. The milliseconds since 1970 alone, where the
// year has not four digits.
std::string iso_time(UtcTime time);

}  // namespace semel
