#include "base/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

namespace semel::decimal {

namespace {

std::string_view digits_at(std::string_view text) noexcept {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

std::optional<std::int64_t> exponent_of(std::string_view text, std::int64_t longest) noexcept {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (exponent > longest || exponent < -longest) return std::nullopt;
  return exponent;
}

bool is_text_of(double number, const Number& wanted) {
  if (parse(fmt::format("{}", number)) == wanted) return true;
  // Some programs write all the digits that distinguish doubles.
  for (const int digits :
       {std::numeric_limits<double>::max_digits10 - 1, std::numeric_limits<double>::max_digits10}) {
    if (parse(fmt::format("{:.{}e}", number, digits - 1)) == wanted) return true;
  }
  return false;
}

}  // namespace

std::size_t Number::before_point() const noexcept {
  const std::int64_t before = static_cast<std::int64_t>(digits.size()) + exponent;
  return before > 0 ? static_cast<std::size_t>(before) : 0;
}

std::size_t Number::behind_point() const noexcept {
  return exponent < 0 ? static_cast<std::size_t>(-exponent) : 0;
}

std::optional<Number> parse(std::string_view text, std::int64_t longest_exponent) {
  Number number;
  number.negative = text.starts_with('-');
  if (number.negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = digits_at(text);
  text.remove_prefix(whole.size());
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = digits_at(text);
    text.remove_prefix(fraction.size());
    if (fraction.empty()) return std::nullopt;
  }
  if (whole.empty()) return std::nullopt;
  const auto exponent = exponent_of(text, longest_exponent);
  if (!exponent) return std::nullopt;
  number.digits.append(whole).append(fraction);
  number.exponent = *exponent - static_cast<std::int64_t>(fraction.size());
  const std::size_t last = number.digits.find_last_not_of('0');
  if (last == std::string::npos) return Number{};
  number.exponent += static_cast<std::int64_t>(number.digits.size() - 1 - last);
  number.digits.resize(last + 1);
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  return number;
}

std::string plain(const Number& number) {
  if (number.digits.empty()) return "0";
  std::string text = number.negative ? "-" : "";
  const std::size_t before = number.before_point();
  const std::size_t behind = number.behind_point();
  if (behind == 0) return text + number.digits + std::string(before - number.digits.size(), '0');
  if (before > 0)
    return text + number.digits.substr(0, before) + "." + number.digits.substr(before);
  return text + "0." + std::string(behind - number.digits.size(), '0') + number.digits;
}

std::optional<std::int64_t> exact_integer(std::string_view text) {
  const auto number = parse(text);
  constexpr std::size_t kMostDigits = std::numeric_limits<std::int64_t>::digits10 + 1;
  if (!number || !number->whole() || number->before_point() > kMostDigits) return std::nullopt;
  const std::string digits = plain(*number);
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> exact_double(std::string_view text) {
  const auto number = parse(text);
  if (!number) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double nearest = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), nearest);
  if (read.ec != std::errc() || !is_text_of(nearest, *number)) return std::nullopt;
  return nearest;
}

}  // namespace semel::decimal
