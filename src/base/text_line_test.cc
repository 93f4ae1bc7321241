#include "base/text_line.h"

#include <gtest/gtest.h>

namespace semel::text_line {
namespace {

TEST(TextLine, EndsAsOnAnySystem) {
  EXPECT_EQ(without_ending("a\n"), "a");
  EXPECT_EQ(without_ending("a\r\n"), "a");
  EXPECT_EQ(without_ending("a\r"), "a") << "its line feed is off already";
  EXPECT_EQ(without_ending("a\r\r\n"), "a\r");
  EXPECT_EQ(without_ending(""), "");
}

TEST(TextLine, AByteOrderMarkIsNoPartOfIt) {
  EXPECT_EQ(without_mark("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(without_mark("\xEF\xBB{}"), "\xEF\xBB{}");
  EXPECT_EQ(without_mark("{}\xEF\xBB\xBF"), "{}\xEF\xBB\xBF");
}

TEST(TextLine, OfSpaceAloneItIsBlank) {
  EXPECT_TRUE(is_blank(" \t\r\n"));
  EXPECT_TRUE(is_blank(""));
  EXPECT_FALSE(is_blank(" x "));
}

}  // namespace
}  // namespace semel::text_line
