#include "base/decimal.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace semel::decimal {
namespace {

std::string plain_of(std::string_view text) {
  const auto number = parse(text);
  return number ? plain(*number) : "(no number)";
}

TEST(Decimal, IsReadByItsDigits) {
  for (const auto& [text, plain] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0", "0"},
           {"-0.00", "0"},
           {"7", "7"},
           {"-12.50", "-12.5"},
           {"+1.5", "1.5"},
           {"007.10", "7.1"},
           {"1e2", "100"},
           {"1.5E+3", "1500"},
           {"25e-3", "0.025"},
           {"-0.001e1", "-0.01"},
           {"123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789"},
           {"100", "100"}}) {
    EXPECT_EQ(plain_of(text), plain) << text;
  }
  for (const char* text : {"", "-", ".5", "5.", "1.2.3", "1e", "1e+", "1e1.5", "0x10", " 1", "1 ",
                           "NaN", "Infinity", "1,5", "--1", "1e9999999999999999999"}) {
    EXPECT_EQ(plain_of(text), "(no number)") << text;
  }
  EXPECT_EQ(parse("1.50"), parse("15e-1"));
  EXPECT_NE(parse("1.50"), parse("1.51"));
}

TEST(Decimal, KnowsItsLength) {
  EXPECT_EQ(parse("-123.4500")->before_point(), 3U);
  EXPECT_EQ(parse("-123.4500")->behind_point(), 2U);
  EXPECT_EQ(parse("0.001")->before_point(), 0U);
  EXPECT_EQ(parse("0.001")->behind_point(), 3U);
  EXPECT_EQ(parse("5e20")->before_point(), 21U);
}

TEST(Decimal, IsADoubleWhereNoDigitIsLost) {
  for (const double number : {0.1, 1.5, -2.25, 1e300, 5e-324, 123456789012345.67,
                              std::numeric_limits<double>::max(), 0.30000000000000004}) {
    for (const char* format : {"%.17g", "%.16g"}) {
      char text[64];
      std::snprintf(text, sizeof text, format, number);
      if (std::strtod(text, nullptr) != number) continue;
      EXPECT_EQ(exact_double(text), number) << text;
    }
  }
  EXPECT_EQ(exact_double("0.1"), 0.1);
  EXPECT_EQ(exact_double("0.100"), 0.1);
  EXPECT_EQ(exact_double("1e2"), 100.0);
  EXPECT_EQ(exact_double("-0.0"), 0.0);
  EXPECT_EQ(exact_double("9007199254740992"), 0x1p53);
  for (const char* text :
       {"0.1234567890123456789", "1234567890123456.78", "9007199254740993", "12345678901234567890",
        "1e400", "-1e400", "1e-400", "0.100000000000000011", "abc"}) {
    EXPECT_EQ(exact_double(text), std::nullopt) << text;
  }
}

TEST(Decimal, IsAnIntegerWhereItFits) {
  EXPECT_EQ(exact_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(exact_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(exact_integer("5.00"), 5);
  EXPECT_EQ(exact_integer("5e3"), 5000);
  for (const char* text : {"9223372036854775808", "5.5", "1e19", "1e999999", "x"}) {
    EXPECT_EQ(exact_integer(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace semel::decimal
