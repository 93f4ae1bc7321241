#include "base/time_text.h"

#include <chrono>
#include <cstddef>

namespace semel {

namespace {

// Digits where `form` has digits, and the same characters elsewhere.
bool has_form(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !digit : text[i] != form[i]) return false;
  }
  return true;
}

int number_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (const char digit : text.substr(at, count)) number = 10 * number + (digit - '0');
  return number;
}

}  // namespace

std::optional<UtcTime> parse_iso_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (!has_form(text, kForm)) return std::nullopt;
  const std::chrono::year_month_day date(
      std::chrono::year(number_at(text, 0, 4)),
      std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2))));
  const int hours = number_at(text, 11, 2);
  const int minutes = number_at(text, 14, 2);
  const int seconds = number_at(text, 17, 2);
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  return UtcTime(std::chrono::sys_days(date)) + std::chrono::hours(hours) +
         std::chrono::minutes(minutes) + std::chrono::seconds(seconds) +
         std::chrono::milliseconds(number_at(text, 20, 3));
}

}  // namespace semel
