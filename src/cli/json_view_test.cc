#include "cli/json_view.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

TEST(JsonView, ReadsMembersOfEachType) {
  const JsonView view(
      R"({"name":"a\nb","key_base64":"/wA=","count":3,"on":true,"at":"1970-01-01T00:00:01.500Z",)"
      R"("in":{"x":1},"list":[{"y":1}, {"y":2}],"words":["a","b,c"],"pids":[17,18],"none":null})");
  EXPECT_EQ(view.text("name"), "a\nb");
  EXPECT_EQ(view.bytes("key"), Bytes("\xff\0", 2));
  EXPECT_EQ(view.bytes("name"), "a\nb");
  EXPECT_EQ(view.number("count"), 3);
  EXPECT_TRUE(view.flag("on"));
  EXPECT_EQ(view.time("at"), StoreTime(std::chrono::milliseconds(1'500)));
  EXPECT_EQ(view.object("in").count("x"), 1U);
  const auto list = view.objects("list");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].count("y"), 2U);
  EXPECT_EQ(view.texts("words"), (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(view.numbers("pids"), (std::vector<std::int64_t>{17, 18}));
}

TEST(JsonView, WhatIsNotThereIsEmpty) {
  const JsonView view(R"({"name":1,"list":[],"count":-1})");
  EXPECT_EQ(view.text("name"), "");
  EXPECT_EQ(view.count("count"), 0U);
  EXPECT_FALSE(view.number("absent"));
  EXPECT_FALSE(view.flag("name"));
  EXPECT_FALSE(view.time("name"));
  EXPECT_TRUE(view.objects("list").empty());
  EXPECT_TRUE(view.objects("name").empty());
  EXPECT_EQ(view.object("absent").text("x"), "");
}

}  // namespace
}  // namespace semel::cli
