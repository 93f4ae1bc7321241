#include "cli/text.h"

#include <fmt/format.h>

#include "base/iso_time.h"
#include "base/number_text.h"

namespace semel::cli {

std::string grouped(std::uint64_t number) { return grouped_digits(number, ' '); }

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(number), number == 1 ? one : many);
}

std::string took(std::chrono::nanoseconds time) {
  const double us = static_cast<double>(time.count()) / 1e3;
  if (us < 99.5) return fmt::format("{:.0f} µs", us);
  if (us < 99'500) return fmt::format("{:.1f} ms", us / 1e3);
  if (us < 999'500) return fmt::format("{:.0f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string duration_text(std::chrono::milliseconds time) { return rough_duration(time); }

std::string time_text(StoreTime time, TimeStyle style, StoreTime now) {
  const std::int64_t ms = time.time_since_epoch().count();
  if (style == TimeStyle::kRaw) return std::to_string(ms);
  if (style == TimeStyle::kRelative) {
    return time > now ? "in " + duration_text(time - now) : duration_text(now - time) + " ago";
  }
  return iso_time(time);
}

}  // namespace semel::cli
