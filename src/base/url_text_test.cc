#include "base/url_text.h"

#include <gtest/gtest.h>

namespace semel::url_text {
namespace {

TEST(UrlText, EscapesAreTwoDigits) {
  EXPECT_EQ(unescaped("a%41%2fb"), "aA/b");
  EXPECT_EQ(unescaped(""), "");
  for (const char* wrong : {"%", "a%4", "%zz", "%4z", "%-1"}) {
    EXPECT_FALSE(unescaped(wrong).has_value()) << wrong;
  }
}

TEST(UrlText, WhatStandsBeforeAMarkIsTakenAway) {
  std::string_view text = "user:pass:word";
  EXPECT_EQ(cut_before(text, ':'), "user");
  EXPECT_EQ(text, "pass:word");
  EXPECT_EQ(cut_before(text, '@'), "pass:word");
  EXPECT_EQ(text, "");
  EXPECT_EQ(cut_before(text, '@'), "");
}

TEST(UrlText, NumbersAreWholeAndWithinBounds) {
  EXPECT_EQ(number("6379", 1, 65'535), 6379U);
  EXPECT_EQ(number("0", 0, 1), 0U);
  for (const char* wrong : {"", "0", "65536", "-1", "+1", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(number(wrong, 1, 65'535).has_value()) << wrong;
  }
}

TEST(UrlText, AHostWithColonsStandsInBrackets) {
  EXPECT_EQ(server("db.example:5432").host, "db.example");
  EXPECT_EQ(server("db.example:5432").port, "5432");
  EXPECT_EQ(server("db.example").port, "");
  EXPECT_EQ(server("[::1]:5432").host, "::1");
  EXPECT_EQ(server("[::1]:5432").port, "5432");
  EXPECT_EQ(server("[::1]").port, "");
}

}  // namespace
}  // namespace semel::url_text
