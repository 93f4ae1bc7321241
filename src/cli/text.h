// Words and figures as a terminal shows them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>
#include <semel/records.h>

namespace semel::cli {

// 13333 → "13 333".
std::string grouped(std::uint64_t number);
// "1 delivery", "2 deliveries".
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);

// Bytes for one line of a terminal, in the form of base/printable.h; what is longer than `longest`
// characters is cut, with an ellipsis. 0: never cut.
std::string printable(BytesView bytes, std::size_t longest = 0);

// "2.1 ms", "340 µs", "12 s".
std::string took(std::chrono::nanoseconds time);

// "500ms", "20s", "5m", "6h", "7d"; nothing where it is none of these.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds time);

enum class TimeStyle { kIso, kRelative, kRaw };
std::string time_text(StoreTime time, TimeStyle style, StoreTime now);

// The candidate a mistyped word most likely meant; nothing where none is near.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace semel::cli
