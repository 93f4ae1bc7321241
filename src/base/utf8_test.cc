#include "base/utf8.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <string_view>

namespace semel {
namespace {

TEST(Utf8, MeasuresACharacter) {
  EXPECT_EQ(utf8_length("ab"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA9x"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
}

TEST(Utf8, WhatIsNoCharacterHasNoLength) {
  for (const auto* bad : {"\xFF", "\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x80\x80",
                          "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x98"}) {
    EXPECT_EQ(utf8_length(bad), 0U);
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_FALSE(is_utf8(std::string("k") + bad));
  }
  for (const auto* good : {"", "k", "k\xC3\xA4se \xF0\x9F\xA7\x80"}) EXPECT_TRUE(is_utf8(good));
}

// Up to four bytes, each from both sides of every border of RFC 3629, at the beginning of a word
// and across the end of one.
TEST(Utf8, AgreesWithAnotherValidatorAtEveryBorder) {
  static constexpr std::array<unsigned char, 24> kBorders = {
      0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
      0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  constexpr std::size_t kPlaces = 4;
  constexpr std::size_t kAll =
      kBorders.size() * kBorders.size() * kBorders.size() * kBorders.size();
  std::size_t accepted = 0;
  for (const std::string_view before : {"", "letters"}) {
    for (std::size_t number = 0; number < kAll; ++number) {
      std::string text(before);
      std::size_t rest = number;
      for (std::size_t i = 0; i < kPlaces; ++i, rest /= kBorders.size()) {
        text += static_cast<char>(kBorders[rest % kBorders.size()]);
      }
      const bool other = simdjson::validate_utf8(text.data(), text.size());
      ASSERT_EQ(is_utf8(text), other) << number << " after \"" << before << '"';
      accepted += other ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 1000U);
  EXPECT_LT(accepted, kAll);
}

TEST(Utf8, FindsTheOneBadByteWhereverItStands) {
  for (std::size_t size = 1; size <= 40; ++size) {
    EXPECT_TRUE(is_utf8(std::string(size, 'a')));
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\xFF';
      EXPECT_FALSE(is_utf8(text)) << at << " in " << size;
    }
  }
}

TEST(Utf8, ControlsAreThoseOfAsciiAndTheirTwins) {
  for (const auto* control : {"\x01", "\x1B", "\x7F", "\xC2\x9B"}) EXPECT_TRUE(is_control(control));
  for (const auto* plain : {" ", "~", "\xC2\xA0", "\xC3\xA9"}) EXPECT_FALSE(is_control(plain));
}

}  // namespace
}  // namespace semel
