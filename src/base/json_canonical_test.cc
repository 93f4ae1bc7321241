#include "base/json_canonical.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json_scan.h"

namespace semel::json {
namespace {

TEST(Canonical, IsOneTextForAllThatSayTheSame) {
  EXPECT_EQ(canonical(R"( { "b" : [ 1 , 2 ] , "a" : { "d":null, "c":true } } )"),
            R"({"a":{"c":true,"d":null},"b":[1,2]})");
  EXPECT_EQ(canonical("\r\n[ ]\t"), "[]");
  EXPECT_EQ(canonical("{ }"), "{}");
  EXPECT_EQ(canonical(R"("\u0041\/\u00e4\n")"), "\"A/\xC3\xA4\\n\"");
  EXPECT_EQ(canonical(R"({"\u0061":1})"), canonical(R"({"a":1})"));
}

TEST(Canonical, ANumberIsItsExactValue) {
  for (const char* same : {"1.5", "1.50", "15e-1", "0.15E+1", "150e-2", "1.5000e000"}) {
    EXPECT_EQ(canonical(same), "15e-1") << same;
  }
  for (const char* same : {"100", "1e2", "1.00e2", "10000e-2"}) {
    EXPECT_EQ(canonical(same), "1e2") << same;
  }
  for (const char* same : {"0", "-0", "0.000", "0e9"}) EXPECT_EQ(canonical(same), "0") << same;
  EXPECT_NE(canonical("9007199254740993"), canonical("9007199254740992")) << "no double has it";
  EXPECT_NE(canonical("0.1"), canonical("0.1000000000000000055511151231257827"));
  EXPECT_NE(canonical("1"), canonical("-1"));
  EXPECT_NE(canonical("1"), canonical("\"1\""));
  EXPECT_NE(canonical("1e999999999999999999999"), canonical("1e999999999999999999998"));
}

TEST(Canonical, TellsApartWhatDiffers) {
  EXPECT_NE(canonical("[1,2]"), canonical("[2,1]")) << "elements have an order";
  EXPECT_NE(canonical(R"({"a":1})"), canonical(R"({"a":1,"b":null})"));
  EXPECT_NE(canonical(R"(["a,b"])"), canonical(R"(["a","b"])"));
  EXPECT_NE(canonical(R"({"a":1,"a":2})"), canonical(R"({"a":2,"a":1})"));
  EXPECT_NE(canonical("null"), canonical("\"null\""));
}

TEST(Canonical, IsJsonAndItsOwnCanonicalText) {
  std::string deep;
  for (std::size_t i = 0; i < kMaxDepth / 2; ++i) deep += R"({"z":0,"a":[)";
  for (std::size_t i = 0; i < kMaxDepth / 2; ++i) deep += "]}";
  for (const std::string& text :
       {deep, std::string(R"({"z":[{"y":1.50,"x":"\u0000\"\\"}],"":-0.0})"), std::string("3")}) {
    ASSERT_TRUE(validate(text)) << text;
    const std::string made = canonical(text);
    EXPECT_TRUE(validate(made)) << made;
    EXPECT_EQ(canonical(made), made);
  }
}

}  // namespace
}  // namespace semel::json
