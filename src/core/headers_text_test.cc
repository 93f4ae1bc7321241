#include "core/headers_text.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using namespace std::string_literals;

TEST(HeadersText, AnyBytesComeBack) {
  const Headers headers = {{"h", "v"}, {"", ""}, {"a:b,", "1:x,\0\xff"s}, {"h", "again"}};
  const Headers back = headers_of(text_of(headers));
  ASSERT_EQ(back.size(), headers.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, headers[i].name);
    EXPECT_EQ(back[i].value, headers[i].value);
  }
  EXPECT_EQ(text_of({{"name", "value"}}), "4:name,5:value,");
}

TEST(HeadersText, WhatIsBrokenEndsTheList) {
  for (const char* broken : {"x", "4:na", "4:name,9:value,", "4:name", "4:name,", "-1:a,1:b,",
                             "99999999999999999999999:a,1:b,", "1:ab,1:b,"}) {
    EXPECT_TRUE(headers_of(broken).empty()) << broken;
  }
  EXPECT_EQ(headers_of("1:a,1:b,1:c").size(), 1U);
}

}  // namespace
}  // namespace semel::core
