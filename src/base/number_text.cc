#include "base/number_text.h"

#include <cstddef>

#include <fmt/format.h>

namespace semel {

std::string grouped_digits(std::uint64_t number, char separator) {
  constexpr std::ptrdiff_t kGroup = 3;
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - kGroup; at > 0; at -= kGroup) {
    digits.insert(static_cast<std::size_t>(at), 1, separator);
  }
  return digits;
}

std::string rough_duration(std::chrono::milliseconds time) {
  const std::int64_t ms = time.count();
  if (ms < 1'000) return fmt::format("{} ms", ms);
  if (ms < 120'000) return fmt::format("{} s", ms / 1'000);
  if (ms < 7'200'000) return fmt::format("{} min", ms / 60'000);
  if (ms < 172'800'000) return fmt::format("{} h", ms / 3'600'000);
  return fmt::format("{} d", ms / 86'400'000);
}

}  // namespace semel
