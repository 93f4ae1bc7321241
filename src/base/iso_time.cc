#include "base/iso_time.h"

#include <fmt/format.h>

namespace semel {

namespace {

template <class Duration>
std::string iso_time_of(std::chrono::time_point<std::chrono::system_clock, Duration> time,
                        int digits) {
  using std::chrono::days;
  using std::chrono::January;
  using std::chrono::sys_days;
  using std::chrono::year;
  constexpr auto kEnd = sys_days(year(10'000) / January / 1);
  constexpr auto kBeginning = sys_days(year(0) / January / 1);
  if (time < kBeginning || time >= kEnd) return std::to_string(time.time_since_epoch().count());
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Duration> clock(time - day);
  return fmt::format(
      "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.{:0{}d}Z", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
      clock.minutes().count(), clock.seconds().count(), clock.subseconds().count(), digits);
}

}  // namespace

std::string iso_time(UtcTime time) { return iso_time_of(time, 3); }
std::string iso_time(ExactUtcTime time) { return iso_time_of(time, 6); }

}  // namespace semel
