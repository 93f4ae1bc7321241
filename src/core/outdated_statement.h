// The code of an error that only says that a statement was prepared before its tables changed.
#pragma once

#include <string_view>

namespace semel::core {

// Its kind is kRetryTransaction. No other transaction is met: to run alone would not help.
inline constexpr std::string_view kOutdatedStatement = "R215";

}  // namespace semel::core
