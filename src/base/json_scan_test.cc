// Hostile input, and the same verdict as an independent parser on random documents.
#include "base/json_scan.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <iostream>
#include <random>
#include <string>

#include "base/json.h"

namespace semel::json {
namespace {

bool good(std::string_view text) { return validate(text).has_value(); }

TEST(Validate, TakesJson) {
  for (const char* text :
       {"0", "-1", "1.25e+10", "true", "false", "null", "\"\"", "[]", "{}", " [ ] ", "[1,2]",
        R"({"a":{"b":[{},[],"",0]}})", "\"\\u0041\"", "[1e999]", "123456789012345678901234567890",
        "\r\n\t {\"a\" : 1 , \"b\" : [ true , null ] } "}) {
    EXPECT_TRUE(good(text)) << text;
  }
}

TEST(Validate, NamesTheFramingThatASenderPutAround) {
  const auto error = [](std::string_view text) { return validate(text).error().message; };
  using namespace std::string_view_literals;
  EXPECT_NE(error("\0\0\0\x01\x02{\"id\":1}"sv).find("Confluent's framing (schema 258)"),
            std::string::npos);
  EXPECT_NE(error("\0\xFF\xFF\xFF\xFF\x06payload"sv).find("schema 4294967295"), std::string::npos);
  EXPECT_NE(error("\x1F\x8B\x08\0"sv).find("compressed with gzip"), std::string::npos);
  EXPECT_NE(error("\x28\xB5\x2F\xFD\x04"sv).find("compressed with zstd"), std::string::npos);
  EXPECT_EQ(error("\0"sv).find("Confluent"), std::string::npos) << "too short for it";
  EXPECT_NE(error("\xFF\xFE"sv).find("UTF-8"), std::string::npos);
}

TEST(Validate, RefusesAllElse) {
  for (const char* text : {"",
                           " ",
                           "\n",
                           "{",
                           "}",
                           "[",
                           "]",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}",
                           "[1}",
                           "{\"a\":1]",
                           "01",
                           "-",
                           "-a",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "0x1",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "tru",
                           "True",
                           "nul",
                           "undefined",
                           "1 2",
                           "{} {}",
                           "\"",
                           "\"a",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800x\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\t\"",
                           "\"a\nb\"",
                           "// x\n1",
                           "/* */1",
                           "\xEF\xBB\xBF{}",
                           "\xFF",
                           "\"\xC3\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xC0\x80\"",
                           "1\x01",
                           "[[]",
                           "\"a\"b"}) {
    EXPECT_FALSE(good(text)) << text;
  }
  EXPECT_FALSE(good(std::string("1\0", 2)));
  EXPECT_FALSE(good(std::string("\0{}", 3)));
  EXPECT_FALSE(good(std::string("\"a\0b\"", 5)));
  EXPECT_FALSE(good(std::string("{}\0", 3)));
}

TEST(Validate, SaysWhereAndWhat) {
  EXPECT_EQ(validate("").error().message, "not JSON: it is empty at byte 0");
  EXPECT_EQ(validate("[1,]").error().message, "not JSON: no value stands at byte 3");
  EXPECT_EQ(validate("\xFF").error().message, "not JSON: it is not valid UTF-8");
}

std::string nested(std::size_t depth, char open, char close, std::string_view between = "") {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) (text += open) += between;
  text += "1";
  return text + std::string(depth, close);
}

TEST(Validate, BoundsDepth) {
  EXPECT_TRUE(good(nested(kMaxDepth, '[', ']')));
  EXPECT_FALSE(good(nested(kMaxDepth + 1, '[', ']')));
  EXPECT_TRUE(good(nested(kMaxDepth, '{', '}', "\"a\":")));
  EXPECT_FALSE(good(nested(kMaxDepth + 1, '{', '}', "\"a\":")));
  EXPECT_FALSE(good(std::string(5'000'000, '[')));
  EXPECT_FALSE(good(nested(5'000'000, '{', '}', "\"a\":")));
}

std::string random_string(std::mt19937_64& random) {
  static constexpr std::string_view kPieces[] = {
      "a", "key",  "\\n",  "\\u00e9", "\\ud83d\\ude00",
      "é", "€",    "}",    "]",       ",",
      ":", "\\\"", "\\\\", " ",       "a longer run of plain text"};
  std::string text = "\"";
  for (std::uint64_t n = random() % 4; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
  return text + "\"";
}

std::string random_value(std::mt19937_64& random, int depth) {
  static constexpr std::string_view kScalars[] = {
      "0", "-1", "12", "1.5", "2e3", "-0", "true", "false", "null", "1E-2", "9223372036854775807"};
  const std::uint64_t kind = random() % (depth > 4 ? 2 : 4);
  if (kind == 0) return std::string(kScalars[random() % std::size(kScalars)]);
  if (kind == 1) return random_string(random);
  std::string text(1, kind == 2 ? '[' : '{');
  for (std::uint64_t i = 0, n = random() % 4; i < n; ++i) {
    if (i > 0) text += ',';
    if (random() % 3 == 0) text += ' ';
    if (kind == 3) text += random_string(random) + (random() % 3 == 0 ? " :\n" : ":");
    text += random_value(random, depth + 1);
  }
  return text + (kind == 2 ? ']' : '}');
}

void mutate(std::string& text, std::mt19937_64& random) {
  static constexpr std::string_view kBytes = "{}[]\",:\\ue10-+.tfn \n\x01\xC3\xA9\xF0";
  const std::size_t at = random() % text.size();
  switch (random() % 4) {
    case 0:
      text.erase(at, 1);
      break;
    case 1:
      text.insert(at, 1, kBytes[random() % kBytes.size()]);
      break;
    case 2:
      text[at] = kBytes[random() % kBytes.size()];
      break;
    default:
      text.resize(at);
  }
}

// Only numbers out of range may differ between the two: ours keeps them as written.
TEST(Validate, AgreesWithAnotherParserOnRandomText) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  simdjson::dom::parser other;
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = random_value(random, 0);
    for (std::uint64_t n = random() % 3; n > 0 && !text.empty(); --n) mutate(text, random);
    const simdjson::error_code error = other.parse(text).error();
    if (error == simdjson::NUMBER_ERROR && good(text)) continue;
    ASSERT_EQ(good(text), error == simdjson::SUCCESS) << text << "\n" << error << " seed " << seed;
    (error == simdjson::SUCCESS ? accepted : refused)++;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

std::string pointer_text(std::string_view name) {
  std::string text = "/";
  for (char c : name) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

TEST(JsonScan, FindsWhatAnotherParserFinds) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  simdjson::dom::parser other;
  Document document;
  int compared = 0;
  for (int round = 0; round < 5'000; ++round) {
    const std::string text = random_value(random, 0);
    simdjson::dom::object object;
    if (other.parse(text).get(object) != simdjson::SUCCESS) continue;
    ASSERT_TRUE(document.parse(text)) << text;
    for (const auto field : object) {
      const Result<Scalar> found = document.at(Pointer::parse(pointer_text(field.key)).value());
      if (!found) continue;  // the name occurs twice
      ASSERT_FALSE(std::holds_alternative<Absent>(*found)) << text << field.key;
      if (std::string_view expected; field.value.get(expected) == simdjson::SUCCESS) {
        ASSERT_EQ(std::get<std::string>(*found), expected) << text << " seed " << seed;
        ++compared;
      } else if (std::int64_t number = 0; field.value.get(number) == simdjson::SUCCESS) {
        ASSERT_EQ(std::get<Integer>(*found).value, number) << text << " seed " << seed;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 500);
}

TEST(ArrayElements, AreAsTheyAreWritten) {
  using Elements = std::vector<std::string_view>;
  const auto of = [](std::string_view text) { return array_elements(text, 3).value(); };
  EXPECT_EQ(of(" [ ] "), Elements());
  EXPECT_EQ(of("[1]\n"), Elements({"1"}));
  EXPECT_EQ(of(R"([ {"a": [1, 2]} ,"]," , null ])"),
            Elements({R"({"a": [1, 2]})", R"("],")", "null"}));
}

TEST(ArrayElements, OtherTextIsRefused) {
  EXPECT_EQ(array_elements("{}", 3).error().message, "no JSON array");
  EXPECT_EQ(array_elements("[1,]", 3).error().kind, ErrorKind::kRejected);
  EXPECT_EQ(array_elements("[1,2,3,4]", 3).error().kind, ErrorKind::kLimit);
  EXPECT_EQ(array_elements("[1,2,3]", 3)->size(), 3U);
}

}  // namespace
}  // namespace semel::json
