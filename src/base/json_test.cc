#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace semel::json {
namespace {

Result<Scalar> at(std::string_view text, std::string_view pointer) {
  Document document;
  if (Result<void> parsed = document.parse(text); !parsed) return failure(parsed.error());
  return document.at(Pointer::parse(pointer).value());
}
template <class T>
T get(std::string_view text, std::string_view pointer) {
  const Result<Scalar> found = at(text, pointer);
  if (!found) throw SemelError(found.error());
  return std::get<T>(*found);
}
bool absent(std::string_view text, std::string_view pointer) {
  return std::holds_alternative<Absent>(at(text, pointer).value());
}
std::string problem(std::string_view text, std::string_view pointer = "") {
  const Result<Scalar> found = at(text, pointer);
  return found ? "" : found.error().message;
}

TEST(Pointer, IsSplitAndUnescaped) {
  EXPECT_TRUE(Pointer::parse("")->parts().empty());
  EXPECT_EQ(Pointer::parse("/")->parts(), std::vector<std::string>({""}));
  EXPECT_EQ(Pointer::parse("/a/b")->parts(), std::vector<std::string>({"a", "b"}));
  EXPECT_EQ(Pointer::parse("/a//")->parts(), std::vector<std::string>({"a", "", ""}));
  EXPECT_EQ(Pointer::parse("/a~1b/~0c/~01")->parts(),
            std::vector<std::string>({"a/b", "~c", "~1"}));
  EXPECT_EQ(Pointer::parse("/a~1b")->text(), "/a~1b");
}

TEST(Pointer, RefusesABadSyntax) {
  for (const char* bad : {"a", "a/b", "/a~", "/~2", "/a~/b", "#/a"}) {
    const Result<Pointer> pointer = Pointer::parse(bad);
    ASSERT_FALSE(pointer) << bad;
    EXPECT_EQ(pointer.error().kind, ErrorKind::kRejected);
    EXPECT_FALSE(pointer.error().hint.empty());
  }
}

TEST(Document, FindsScalars) {
  const std::string text =
      R"({"s":"x","t":true,"f":false,"n":null,"i":-42,"d":1.5,"o":{"a":[10,"b",{"c":"deep"}]},"":1})";
  EXPECT_EQ(get<std::string>(text, "/s"), "x");
  EXPECT_TRUE(get<bool>(text, "/t"));
  EXPECT_FALSE(get<bool>(text, "/f"));
  get<JsonNull>(text, "/n");
  EXPECT_EQ(get<Integer>(text, "/i").value, -42);
  EXPECT_EQ(get<Float>(text, "/d").value, 1.5);
  EXPECT_EQ(get<Integer>(text, "/o/a/0").value, 10);
  EXPECT_EQ(get<std::string>(text, "/o/a/2/c"), "deep");
  EXPECT_EQ(get<Integer>(text, "/").value, 1);
  EXPECT_EQ(get<std::string>(" \n\"root\"\t", ""), "root");
  EXPECT_EQ(get<Integer>(" 7 ", "").value, 7);
}

TEST(Document, ACompositeStandsAsWritten) {
  Document document;
  ASSERT_TRUE(document.parse(R"({"o": {"a" : [1, "}"]} , "b":1})"));
  const Scalar found = document.at(Pointer::parse("/o").value()).value();
  EXPECT_EQ(std::get<Composite>(found).written, R"({"a" : [1, "}"]})");
}

TEST(Document, WhatIsNotThereIsAbsent) {
  const std::string text = R"({"a":{"b":1},"l":[1,2],"s":"x"})";
  for (const char* pointer : {"/x", "/a/x", "/a/b/c", "/l/2", "/l/-", "/l/01", "/l/x", "/l/+1",
                              "/l/", "/s/0", "/A", "/l/99999999999999999999999"}) {
    EXPECT_TRUE(absent(text, pointer)) << pointer;
  }
  EXPECT_TRUE(absent("{}", "/a"));
  EXPECT_TRUE(absent("[]", "/0"));
  EXPECT_TRUE(absent("1", "/0"));
}

TEST(Document, IntegersStandAsWritten) {
  const auto written = [](std::string_view number) {
    Document document;
    EXPECT_TRUE(document.parse(number)) << number;
    const Scalar found = document.at(Pointer()).value();
    const Integer& integer = std::get<Integer>(found);
    EXPECT_EQ(integer.written, number);
    return integer.value;
  };
  EXPECT_EQ(written("0"), 0);
  EXPECT_EQ(written("-0"), 0);
  EXPECT_EQ(written("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(written("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(written("9223372036854775808"), std::nullopt);
  EXPECT_EQ(written("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(written(std::string(4000, '9')), std::nullopt);
}

TEST(Document, FloatsOutOfRangeAreInfiniteOrZero) {
  EXPECT_EQ(get<Float>("1e308", "").value, 1e308);
  EXPECT_EQ(get<Float>("5e-324", "").value, 5e-324);
  EXPECT_EQ(get<Float>("1e999", "").value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(get<Float>("-1E+999", "").value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(get<Float>("1e-999", "").value, 0);
  EXPECT_EQ(get<Float>("0." + std::string(500, '0') + "1", "").value, 0);
  EXPECT_EQ(get<Float>(std::string(500, '1') + ".0", "").value,
            std::numeric_limits<double>::infinity());
}

TEST(Document, StringsAreUnescaped) {
  EXPECT_EQ(get<std::string>(R"("\"\\\/\b\f\n\r\tA")", ""), "\"\\/\b\f\n\r\tA");
  EXPECT_EQ(get<std::string>(R"("é€😀")", ""), "é€😀");
  EXPECT_EQ(get<std::string>(R"("a\u0000b")", ""), std::string("a\0b", 3));
  EXPECT_EQ(get<std::string>(R"("\u00e9\u20AC\uD83D\ude00")", ""), "é€😀");
}

TEST(Document, AMemberIsFoundByWhatItsNameMeans) {
  EXPECT_EQ(get<Integer>(R"({"\u0069d":5})", "/id").value, 5);
  EXPECT_EQ(get<Integer>(R"({"a/b":1,"~":2})", "/a~1b").value, 1);
  EXPECT_EQ(get<Integer>(R"({"a\"b":3})", "/a\"b").value, 3);
}

TEST(Document, ANameThatStandsTwiceIsRefusedWhereAPointerMeetsIt) {
  EXPECT_NE(problem(R"({"id":1,"id":1})", "/id"), "");
  EXPECT_NE(problem(R"({"id":1,"x":[],"\u0069d":2})", "/id"), "");
  EXPECT_NE(problem(R"({"a":{"id":1},"a":{"id":2}})", "/a/id"), "");
  EXPECT_NE(problem(R"({"a":{"id":1,"id":2}})", "/a/id"), "");
  EXPECT_EQ(problem(R"({"id":1,"x":2,"x":3})", "/id"), "");
  EXPECT_EQ(problem(R"({"id":1,"a":{"id":2}})", "/id"), "");
}

TEST(Document, ManyMembersAreFoundLikeFew) {
  for (const int members : {63, 64, 65, 1000}) {
    std::string text = "{\"twice\":0";
    for (int i = 1; i < members; ++i) {
      text += ",\"" + std::to_string(i) + "\":" + std::to_string(i);
    }
    Document document;
    ASSERT_TRUE(document.parse(text + "}"));
    for (const int i : {1, members / 2, members - 1}) {
      const Scalar found = document.at(Pointer::parse("/" + std::to_string(i)).value()).value();
      EXPECT_EQ(std::get<Integer>(found).value, i) << members;
    }
    ASSERT_TRUE(document.at(Pointer::parse("/twice").value()));
    ASSERT_TRUE(document.parse(text + ",\"twice\":1}"));
    EXPECT_FALSE(document.at(Pointer::parse("/twice").value())) << members;
  }
}

TEST(Document, IsUsedAgain) {
  Document document;
  const Pointer pointer = Pointer::parse("/a").value();
  EXPECT_FALSE(document.at(pointer));
  ASSERT_TRUE(document.parse(R"({"a":1})"));
  EXPECT_FALSE(document.parse("{"));
  EXPECT_FALSE(document.at(pointer)) << "a document that failed must not answer for the one before";
  ASSERT_TRUE(document.parse(R"({"a":")" + std::string(3 << 20, 'x') + "\"}"));
  EXPECT_EQ(std::get<std::string>(document.at(pointer).value()).size(), std::size_t{3 << 20});
  ASSERT_TRUE(document.parse(R"({"a":2})"));
  EXPECT_EQ(std::get<Integer>(document.at(pointer).value()).value, 2);
}

}  // namespace
}  // namespace semel::json
