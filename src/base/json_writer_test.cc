#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <string>

#include "base/json.h"
#include "base/json_scan.h"

namespace semel::json {
namespace {

std::string written(std::string_view text) { return Writer().value(text).text(); }

TEST(Writer, WritesInTheOrderOfTheCalls) {
  Writer writer;
  writer.begin_object()
      .member("schema", "semel.v1.x")
      .member("count", 3)
      .member("big", std::numeric_limits<std::uint64_t>::max())
      .member("rate", 1.5)
      .member("ok", true)
      .name("rows")
      .begin_array()
      .value(1)
      .begin_object()
      .end_object()
      .begin_array()
      .end_array()
      .null()
      .end_array()
      .member("last", std::string("x"))
      .end_object();
  EXPECT_EQ(writer.text(),
            R"({"schema":"semel.v1.x","count":3,"big":18446744073709551615,"rate":1.5,"ok":true,)"
            R"("rows":[1,{},[],null],"last":"x"})");
}

TEST(Writer, EscapesStrings) {
  EXPECT_EQ(written("a\"\\\b\f\n\r\t/é€😀"), R"("a\"\\\b\f\n\r\t/é€😀")");
  EXPECT_EQ(written(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
}

TEST(Writer, ReplacesEachBadByte) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(written("a\xFF"), "\"a" + r + "\"");
  EXPECT_EQ(written("\xC3"), "\"" + r + "\"");
  EXPECT_EQ(written("\xC3(\xA9"), "\"" + r + "(" + r + "\"");
  EXPECT_EQ(written("\xC0\x80"), "\"" + r + r + "\"");
  EXPECT_EQ(written("\xED\xA0\x80"), "\"" + r + r + r + "\"");
  EXPECT_EQ(written("\xF4\x90\x80\x80"), "\"" + r + r + r + r + "\"");
  EXPECT_EQ(written("\xE0\x80\x80"), "\"" + r + r + r + "\"");
}

TEST(Writer, WhatIsNotANumberIsNull) {
  EXPECT_EQ(Writer().value(std::numeric_limits<double>::infinity()).text(), "null");
  EXPECT_EQ(Writer().value(std::numeric_limits<double>::quiet_NaN()).text(), "null");
}

TEST(Writer, EmbedsJsonOnOneLineAndLeavesStringsAlone) {
  const std::string_view spaced = " { \"a b\\\\\" :\t[ 1.50 ,\r\n\"\\\" {\" , { } ] }\n";
  ASSERT_TRUE(validate(spaced));
  EXPECT_EQ(compact(spaced), "{\"a b\\\\\":[1.50,\"\\\" {\",{}]}");
  Writer writer;
  writer.begin_object().name("p").embed(spaced).member("n", 1).end_object();
  EXPECT_EQ(writer.text(), "{\"p\":" + compact(spaced) + ",\"n\":1}");
  EXPECT_TRUE(validate(writer.text()));
}

TEST(Writer, BytesAreTextWhereTheyAreText) {
  Writer writer;
  writer.begin_object().bytes("key", "k\xC3\xA4se").bytes("other", "\xff").end_object();
  EXPECT_EQ(writer.text(), "{\"key\":\"k\xC3\xA4se\",\"other_base64\":\"/w==\"}");
}

TEST(Writer, AnyBytesMakeValidJsonThatReadsBack) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  Document document;
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes(random() % 20, '\0');
    const bool ascii = round % 2 == 0;
    for (char& c : bytes) c = static_cast<char>(random() % (ascii ? 128 : 256));
    const std::string text = written(bytes);
    ASSERT_TRUE(validate(text)) << text << " seed " << seed;
    if (!ascii) continue;
    ASSERT_TRUE(document.parse(text));
    ASSERT_EQ(std::get<std::string>(document.at(Pointer()).value()), bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace semel::json
