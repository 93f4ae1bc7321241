#include "stores/mysql/literal.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <variant>

#include "base/decimal.h"
#include "base/overloaded.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// The server reads two digits faster than a character that may be a quote or the end; for long
// values, the number of digits matters more.
constexpr std::size_t kFewBytes = 512;

void append_quoted(std::string& out, std::string_view text) {
  out += '\'';
  for (std::size_t quote = text.find('\''); quote != std::string_view::npos;
       quote = text.find('\'')) {
    out += text.substr(0, quote + 1);
    out += '\'';
    text.remove_prefix(quote + 1);
  }
  out += text;
  out += '\'';
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "x'";
  std::size_t at = out.size();
  out.resize(at + 2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out[at++] = kDigits[byte >> 4U];
    out[at++] = kDigits[byte & 15U];
  }
  out += '\'';
}

// Valid in any place: hexadecimal digits next to a number are a number, a string is not.
void append_string(std::string& out, BytesView bytes, Literals literals) {
  if (literals == Literals::kAnyones) return append_hex(out, bytes);
  out += "_binary";
  append_quoted(out, bytes);
}

bool append_double(std::string& out, double number) {
  if (!std::isfinite(number)) return false;
  const std::string text = fmt::format("{}", number);
  // Without an exponent it would be a decimal.
  const bool exponent = text.find('e') != std::string::npos;
  out += fmt::format(fmt::runtime(exponent ? "({})" : "({}e0)"), text);
  return true;
}

// These servers take a literal with an exponent for a double, and compute with doubles then.
bool append_decimal(std::string& out, std::string_view text) {
  // The limits of DECIMAL within which both servers keep every digit.
  constexpr std::size_t kDigits = 65;
  constexpr std::size_t kBehindPoint = 30;
  const auto number = decimal::parse(text);
  if (number && number->behind_point() <= kBehindPoint &&
      number->before_point() + number->behind_point() <= kDigits) {
    out += fmt::format("({})", decimal::plain(*number));
    return true;
  }
  const auto real = decimal::exact_double(text);
  return real && append_double(out, *real);
}

int digits_at(std::string_view text, std::size_t at, std::size_t count) noexcept {
  int value = 0;
  if (at + count <= text.size()) std::from_chars(text.data() + at, text.data() + at + count, value);
  return value;
}

}  // namespace

void append_integer(std::string& out, std::int64_t value) {
  // A minus after a minus would begin a comment.
  fmt::format_to(std::back_inserter(out), fmt::runtime(value < 0 ? "({})" : "{}"), value);
}

void append_bytes(std::string& out, BytesView bytes, Literals literals) {
  if (literals == Literals::kAnyones || bytes.size() <= kFewBytes) return append_hex(out, bytes);
  append_string(out, bytes, literals);
}

void append_text(std::string& out, std::string_view text, Literals literals) {
  if (literals == Literals::kOurs) return append_quoted(out, text);
  out += "_utf8mb4 ";
  append_hex(out, text);
}

void append_time(std::string& out, StoreTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<milliseconds> clock(time - day);
  fmt::format_to(std::back_inserter(out), "TIMESTAMP'{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}'",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

void append(std::string& out, const sql::Param& param, Literals literals) {
  if (param.null()) {
    out += "NULL";
    return;
  }
  switch (param.type()) {
    case sql::Param::Type::kInteger:
      return append_integer(out, param.number());
    case sql::Param::Type::kBoolean:
      out += param.number() != 0 ? "TRUE" : "FALSE";
      return;
    case sql::Param::Type::kTime:
      return append_time(out, StoreTime(milliseconds(param.number())));
    case sql::Param::Type::kBytes:
    case sql::Param::Type::kBinary:
      return append_bytes(out, param.bytes(), literals);
    case sql::Param::Type::kWord:
      return append_text(out, param.bytes(), literals);
  }
}

bool append(std::string& out, const Value& value, Literals literals) {
  return std::visit(
      Overloaded{
          [&](const Null&) { return out += "NULL", true; },
          [&](std::int64_t n) { return append_integer(out, n), true; },
          [&](double d) { return append_double(out, d); },
          [&](const std::string& text) { return append_text(out, text, literals), true; },
          [&](const Blob& blob) { return append_string(out, blob.bytes, literals), true; },
          [&](const Decimal& number) { return append_decimal(out, number.text); },
      },
      value);
}

std::string filled(std::string_view text, std::span<const sql::Param> params, Literals literals) {
  std::string out;
  std::size_t size = text.size();
  for (const sql::Param& param : params) size += param.bytes().size() + sizeof "TIMESTAMP";
  out.reserve(size);
  for (std::size_t at = text.find('?'); at != std::string_view::npos; at = text.find('?')) {
    out += text.substr(0, at);
    text.remove_prefix(at + 1);
    std::size_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    append(out, params[number - 1], literals);
  }
  return out += text;
}

StoreTime time_of(std::string_view text) noexcept {
  const auto two = [&](std::size_t at) { return static_cast<unsigned>(digits_at(text, at, 2)); };
  const std::chrono::year_month_day date(std::chrono::year(digits_at(text, 0, 4)),
                                         std::chrono::month(two(5)), std::chrono::day(two(8)));
  StoreTime time = std::chrono::sys_days(date);
  time +=
      std::chrono::hours(two(11)) + std::chrono::minutes(two(14)) + std::chrono::seconds(two(17));
  constexpr std::size_t kFraction = 20;
  return time + milliseconds(digits_at(text, kFraction, 3));
}

}  // namespace semel::mysql
