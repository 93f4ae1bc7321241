// Formats times for log lines and answers. Pure.
#pragma once

#include <chrono>
#include <string>

namespace semel {

using UtcTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;
using ExactUtcTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// "2026-03-01T12:00:00.250Z": ISO 8601 and RFC 3339, UTC, with as many fractional digits as the
// time has. Only the count since 1970 if the year does not have four digits.
std::string iso_time(UtcTime time);
std::string iso_time(ExactUtcTime time);

}  // namespace semel
