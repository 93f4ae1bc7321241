// Words and figures in the form that a terminal shows. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/bytes.h>

#include "operate/words.h"

namespace semel::cli {

using operate::nearest;
using operate::parse_duration;
using operate::printable;

// 13333 → "13 333".
std::string grouped(std::uint64_t number);
// "1 delivery", "2 deliveries".
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);

// "2.1 ms", "340 µs", "12 s".
std::string took(std::chrono::nanoseconds time);

std::string duration_text(std::chrono::milliseconds time);

enum class TimeStyle { kIso, kRelative, kRaw };
std::string time_text(StoreTime time, TimeStyle style, StoreTime now);

}  // namespace semel::cli
