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

// How many columns of a terminal the UTF-8 text takes, by its characters.
std::size_t width_of(std::string_view text) noexcept;
// The rest of a broken line begins below the text that follows the first gap in it: "NAME   text".
inline constexpr std::optional<std::size_t> kBelowGap = std::nullopt;
// Breaks lines that are longer than `width` at blanks; nullopt: none. The rest of a line begins
// `hang` columns further in than the line. Words longer than a line stay whole, and so do lines of
// an excerpt: `  10 |  …`.
std::string wrapped(std::string_view text, std::optional<std::size_t> width,
                    std::optional<std::size_t> hang = 2);

enum class TimeStyle { kIso, kRelative, kRaw };
std::string time_text(StoreTime time, TimeStyle style, StoreTime now);

}  // namespace semel::cli
