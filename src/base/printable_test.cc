#include "base/printable.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace semel {
namespace {

// Characters that a terminal acts on, each with its shown form.
struct Acting {
  std::string_view character;
  std::string_view shown;
};
constexpr Acting kActing[] = {
    {"\x1B", "\\x1b"},           {"\n", "\\x0a"},
    {"\x7F", "\\x7f"},           {"\xC2\x80", "\\u0080"},
    {"\xC2\x85", "\\u0085"},     {"\xC2\x9B", "\\u009b"},
    {"\xC2\x9F", "\\u009f"},     {"\xD8\x9C", "\\u061c"},
    {"\xE2\x80\x8E", "\\u200e"}, {"\xE2\x80\x8F", "\\u200f"},
    {"\xE2\x80\xA8", "\\u2028"}, {"\xE2\x80\xA9", "\\u2029"},
    {"\xE2\x80\xAA", "\\u202a"}, {"\xE2\x80\xAE", "\\u202e"},
    {"\xE2\x81\xA6", "\\u2066"}, {"\xE2\x81\xA9", "\\u2069"},
};

TEST(Printable, WhatATerminalActsOnIsShownByItsNumber) {
  for (const Acting& one : kActing) {
    EXPECT_TRUE(is_unprintable(one.character)) << one.shown;
    EXPECT_EQ(printable_text("a" + std::string(one.character) + "b"),
              "a" + std::string(one.shown) + "b");
  }
}

TEST(Printable, WhatIsBesideThemStaysAsItIs) {
  // No-break space, the letters around U+061C, joiners that scripts need, the ends of each range.
  for (const char* plain : {" ", "~", "\xC2\xA0", "\xD8\x9B", "\xD8\x9D", "\xE2\x80\x8C",
                            "\xE2\x80\x8D", "\xE2\x80\x90", "\xE2\x80\xA7", "\xE2\x80\xAF",
                            "\xE2\x81\xA5", "\xE2\x81\xAA", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(printable_text(plain), plain);
  }
}

TEST(Printable, BytesThatAreNoCharacterAreShown) {
  EXPECT_EQ(printable_text("\xFF\xFE"), "\\xff\\xfe");
  EXPECT_EQ(printable_text("\xE2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable_text("a\nb\tc\r", "\n\t"), "a\nb\tc\\x0d");
}

TEST(Printable, TheStartOfALongTextEndsWithAnEllipsis) {
  EXPECT_EQ(printable_start("abc", 3), "abc");
  EXPECT_EQ(printable_start("abcd", 3), "abc…");
  EXPECT_EQ(printable_start("\xC3\xA4\n\xFF!", 3), "\xC3\xA4\\x0a\\xff…");
  EXPECT_EQ(printable_start("", 3), "");
}

TEST(Printable, ADocumentKeepsItsValue) {
  EXPECT_EQ(printable_json("{\"k\":\"a\xE2\x80\xAE\xC2\x9B\x7F\xC3\xA4\"}\n"),
            "{\"k\":\"a\\u202e\\u009b\\u007f\xC3\xA4\"}\n");
  EXPECT_EQ(printable_json("{\"k\":\"\\u001b\"}"), "{\"k\":\"\\u001b\"}");
}

}  // namespace
}  // namespace semel
