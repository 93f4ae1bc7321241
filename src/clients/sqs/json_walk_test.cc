#include "clients/sqs/json_walk.h"

#include <gtest/gtest.h>

#include <vector>

namespace semel::sqs {
namespace {

TEST(SqsJsonWalk, FindsMembersAndItems) {
  const std::string_view text = R"( { "a" : "x\"y" , "list":[1, {"b":2} ,"z"], "n":"17" } )";
  EXPECT_EQ(text_of(member_of(text, "a")), "x\"y");
  EXPECT_EQ(number_of(member_of(text, "n")), 17);
  EXPECT_EQ(member_of(text, "none"), "");
  std::vector<std::string> items;
  each_item(member_of(text, "list"), [&](std::string_view item) { items.emplace_back(item); });
  EXPECT_EQ(items, (std::vector<std::string>{"1", R"({"b":2})", "\"z\""}));
}

TEST(SqsJsonWalk, WhatIsEmptyOrAnotherKindHasNoParts) {
  int seen = 0;
  for (const std::string_view text : {"{}", "[]", "\"a\"", "null", ""}) {
    each_member(text, [&](const std::string&, std::string_view) { ++seen; });
    each_item(text, [&](std::string_view) { ++seen; });
  }
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(number_of("\"1.5\""));
  EXPECT_FALSE(number_of(""));
}

}  // namespace
}  // namespace semel::sqs
