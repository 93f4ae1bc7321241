// Units of bounds and defaults, as the schema writes them.
#pragma once

#include <cstdint>

namespace semel::config {

inline constexpr std::int64_t kSecond = 1'000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;
inline constexpr std::int64_t kYears = 10 * 365 * kDay;
inline constexpr std::int64_t kKiB = 1 << 10;
inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr std::int64_t kMany = 1'000'000'000;

}  // namespace semel::config
