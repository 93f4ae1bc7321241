// Formats numbers and durations for people. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace semel {

// "12 345", with `separator` between groups of three digits.
std::string grouped_digits(std::uint64_t number, char separator);

// "40 ms", "90 s", "3 h": in one unit, rounded down.
std::string rough_duration(std::chrono::milliseconds time);

}  // namespace semel
