// Decimal numbers by their digits, as JSON writes them, and exact conversions to other forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::decimal {

// ±digits × 10^exponent. One number has one form.
struct Number {
  bool negative = false;
  std::string digits;         // neither end is a zero; empty: the number is zero
  std::int64_t exponent = 0;  // of the last digit
  bool operator==(const Number&) const = default;

  bool whole() const noexcept { return exponent >= 0; }
  // Digits before and after the point, where it is written without an exponent.
  std::size_t before_point() const noexcept;
  std::size_t behind_point() const noexcept;
};

// Far beyond any database's exponents, and sums of two do not overflow.
inline constexpr std::int64_t kLongestExponent = 1'000'000'000;

// nullopt where `text` is no number (a sign, digits with at most one point, an exponent), or its
// exponent exceeds `longest_exponent`.
std::optional<Number> parse(std::string_view text,
                            std::int64_t longest_exponent = kLongestExponent);

// Without an exponent: as long as before_point() and behind_point() say.
std::string plain(const Number& number);

// The same number in 64 bits.
std::optional<std::int64_t> exact_integer(std::string_view text);
// The double that represents `text` exactly: all digits can be recovered from it. nullopt for more
// digits than a double keeps.
std::optional<double> exact_double(std::string_view text);

}  // namespace semel::decimal
