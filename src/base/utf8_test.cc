#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(Utf8, ControlsAreThoseOfAsciiAndTheirTwins) {
  for (const auto* control : {"\x01", "\x1B", "\x7F", "\xC2\x9B"}) EXPECT_TRUE(is_control(control));
  for (const auto* plain : {" ", "~", "\xC2\xA0", "\xC3\xA9"}) EXPECT_FALSE(is_control(plain));
}

}  // namespace
}  // namespace semel
