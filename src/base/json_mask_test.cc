#include "base/json_mask.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/json_scan.h"

namespace semel::json {
namespace {

std::optional<std::string> hide(std::string_view text,
                                std::initializer_list<std::string_view> pointers) {
  std::vector<Pointer> parsed;
  for (const std::string_view one : pointers) parsed.push_back(Pointer::parse(one).value());
  return masked(text, parsed);
}

TEST(JsonMask, HidesTheValueAndNothingElse) {
  EXPECT_EQ(hide(R"({"id": 7, "card": {"number": "4111", "brand": "x"}})", {"/card/number"}),
            R"({"id": 7, "card": {"number": "***", "brand": "x"}})");
  EXPECT_EQ(hide(R"(  {"a" : 1 , "b":[ 1, 2 ]}  )", {"/a", "/b/1"}),
            R"(  {"a" : "***" , "b":[ 1, "***" ]}  )");
  EXPECT_EQ(hide(R"({"a":1})", {}), R"({"a":1})");
  EXPECT_EQ(hide("[]", {"/0"}), "[]");
  EXPECT_EQ(hide("{}", {"/a"}), "{}");
}

TEST(JsonMask, HidesEveryKindOfValueWhole) {
  for (const char* value : {"1", "-0.5e3", "true", "null", "\"a\\\"}\"", "{\"b\":[1,{}]}",
                            "[[1],[2]]", "[]", "{}", "\"\""}) {
    EXPECT_EQ(hide(std::string("{\"a\":") + value + ",\"z\":1}", {"/a"}), R"({"a":"***","z":1})")
        << value;
    EXPECT_EQ(hide(value, {""}), "\"***\"") << value;
  }
}

TEST(JsonMask, NoSpellingOfANameEscapes) {
  EXPECT_EQ(hide(R"({"c\u0061rd":1,"card":2,"card":{"x":3}})", {"/card"}),
            R"({"c\u0061rd":"***","card":"***","card":"***"})");
  EXPECT_EQ(hide(R"({"a/b":1,"m~n":2})", {"/a~1b", "/m~0n"}), R"({"a/b":"***","m~n":"***"})");
  EXPECT_EQ(hide(R"({"":1})", {"/"}), R"({"":"***"})");
}

TEST(JsonMask, AStarIsEveryElementAndMember) {
  EXPECT_EQ(hide(R"({"items":[{"card":1,"q":2},{"card":3},4],"x":{"card":5}})", {"/items/*/card"}),
            R"({"items":[{"card":"***","q":2},{"card":"***"},4],"x":{"card":5}})");
  EXPECT_EQ(hide(R"({"a":{"n":1},"b":{"n":2}})", {"/*/n"}), R"({"a":{"n":"***"},"b":{"n":"***"}})");
  EXPECT_EQ(hide(R"([1,[2]])", {"/*"}), R"(["***","***"])");
}

TEST(JsonMask, ThePointersDoNotHinderOneAnother) {
  EXPECT_EQ(hide(R"({"a":{"b":1,"c":2}})", {"/a/b", "/a", "/a/c/d"}), R"({"a":"***"})");
  EXPECT_EQ(hide(R"({"a":{"b":1,"c":2}})", {"/a/b", "/a/c"}), R"({"a":{"b":"***","c":"***"}})");
  EXPECT_EQ(hide(R"({"a":1})", {"/a/b/c"}), R"({"a":1})") << "it ends above";
}

TEST(JsonMask, WhatIsNoJsonIsNotShown) {
  for (const char* text : {"", "card=4111", "{\"a\":1", "{} {}", "\xff", "{\"a\":1}\n{\"a\":2}"}) {
    EXPECT_EQ(hide(text, {"/a"}), std::nullopt) << text;
  }
  EXPECT_EQ(hide(std::string(kMaxDepth + 1, '['), {"/a"}), std::nullopt);
}

TEST(JsonMask, TheResultIsJsonAtEveryDepth) {
  std::string deep, end, pointer;
  for (std::size_t i = 0; i + 1 < kMaxDepth; ++i) {
    deep += "{\"a\":";
    end += "}";
    pointer += "/a";
  }
  const auto made = hide(deep + "[\"secret\"]" + end, {pointer + "/0"});
  ASSERT_TRUE(made);
  EXPECT_TRUE(validate(*made));
  EXPECT_EQ(made->find("secret"), std::string::npos);
}

}  // namespace
}  // namespace semel::json
