#include "base/ascii.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(Ascii, OnlyItsLettersHaveAnotherCase) {
  EXPECT_EQ(ascii::lower("@AZ[`az{\xC3\x84"), "@az[`az{\xC3\x84");
  EXPECT_EQ(ascii::upper("@AZ[`az{\xC3\xA4"), "@AZ[`AZ{\xC3\xA4");
}

TEST(Ascii, AlikeIsEqualButForCase) {
  EXPECT_TRUE(ascii::alike("Content-TYPE", "content-type"));
  EXPECT_TRUE(ascii::alike("", ""));
  EXPECT_FALSE(ascii::alike("a", "ab"));
  EXPECT_FALSE(ascii::alike("@", "`")) << "a bit apart, and no letters";
  EXPECT_FALSE(ascii::alike("\xC3\x84", "\xC3\xA4"));
}

TEST(Ascii, ControlsAreWhatIsBelowTheBlankAndDel) {
  for (const char c : {'\0', '\t', '\x1F', '\x7F'}) EXPECT_TRUE(ascii::is_control(c));
  for (const char c : {' ', '~', '\x80', '\xFF'}) EXPECT_FALSE(ascii::is_control(c));
}

}  // namespace
}  // namespace semel
