// The error code for a statement that was prepared before its tables changed.
#pragma once

#include <string_view>

namespace semel::core {

// Its kind is kRetryTransaction. There is no conflict with another transaction, so running alone
// would not help.
inline constexpr std::string_view kOutdatedStatement = "R215";

}  // namespace semel::core
