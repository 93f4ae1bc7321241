// The time of day by this machine's clock.
#pragma once

#include <chrono>

#include "base/iso_time.h"

namespace semel::system {

inline UtcTime utc_now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

inline ExactUtcTime exact_utc_now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace semel::system
