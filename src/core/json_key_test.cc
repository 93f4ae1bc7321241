#include <semel/json.h>

#include <gtest/gtest.h>

#include <string>

#include <semel/reason.h>

#include "base/json_scan.h"
#include "core/intake.h"

namespace semel {
namespace {

using std::string_literals::operator""s;

Bytes found(BytesView payload, std::string_view pointer) {
  const auto key = json_at(payload, pointer);
  EXPECT_TRUE(key) << key.error().message;
  EXPECT_TRUE(key && *key) << "nothing there";
  return key && *key ? **key : Bytes();
}

// The code and the message of the refusal.
std::string refusal_at(BytesView payload, std::string_view pointer) {
  const auto key = json_at(payload, pointer);
  EXPECT_FALSE(key);
  if (key) return "";
  EXPECT_EQ(key.error().kind, ErrorKind::kRejected);
  return key.error().code + ": " + key.error().message;
}

bool absent(BytesView payload, std::string_view pointer) {
  const auto key = json_at(payload, pointer);
  EXPECT_TRUE(key) << key.error().message;
  return key && !*key;
}

TEST(JsonAt, GivesStringsAndIntegersAsTheyAre) {
  EXPECT_EQ(found(R"({"id":"p-1"})", "/id"), "p-1");
  EXPECT_EQ(found(R"({"order":{"ids":[7,"p-2"]}})", "/order/ids/1"), "p-2");
  EXPECT_EQ(found(R"({"id":-42})", "/id"), "-42");
  EXPECT_EQ(found(R"({"id":-0})", "/id"), "-0");
  EXPECT_EQ(found(R"({"id":123456789012345678901234567890})", "/id"),
            "123456789012345678901234567890");
  EXPECT_EQ(found(R"("whole")", ""), "whole");
}

TEST(JsonAt, UnescapesStringsAndPointers) {
  EXPECT_EQ(found(R"({"id":"a\"b\\\u00e4\n\ud83d\ude00"})", "/id"), "a\"b\\ä\n😀");
  EXPECT_EQ(found(R"({"id":"a\u0000b"})", "/id"), "a\0b"s);
  EXPECT_EQ(found(R"({"a/b":{"c~d":"x"}})", "/a~1b/c~0d"), "x");
  EXPECT_EQ(found(R"({"i\u0064":"x"})", "/id"), "x");
  EXPECT_EQ(found(R"({"":"x"})", "/"), "x");
}

TEST(JsonAt, FindsNothingWhereNothingIs) {
  EXPECT_TRUE(absent(R"({"id":1})", "/key"));
  EXPECT_TRUE(absent(R"({"id":1})", "/id/deeper"));
  EXPECT_TRUE(absent("[1,2]", "/2"));
  EXPECT_TRUE(absent("[1,2]", "/01"));
  EXPECT_TRUE(absent("[1,2]", "/-"));
  EXPECT_TRUE(absent("", "/id")) << "a tombstone";
}

TEST(JsonAt, RefusesWhatIsNoKey) {
  const std::string text = R"({"n":null,"b":true,"o":{},"a":[],"f":1.0,"e":1e3,"s":""})";
  EXPECT_EQ(refusal_at(text, "/n"),
            "key.invalid: the key at json:/n is null; a key is a string or an integer");
  EXPECT_TRUE(refusal_at(text, "/b").starts_with("key.invalid: the key at json:/b is a boolean"));
  EXPECT_TRUE(refusal_at(text, "/o").starts_with("key.invalid: the key at json:/o is an object"));
  EXPECT_TRUE(
      refusal_at(text, "/a").starts_with("key.invalid: the key at json:/a is an object or"));
  EXPECT_TRUE(
      refusal_at(text, "/f").starts_with("key.invalid: the key at json:/f is not an integer"));
  EXPECT_TRUE(
      refusal_at(text, "/e").starts_with("key.invalid: the key at json:/e is not an integer"));
  EXPECT_EQ(refusal_at(text, "/s"), "key.invalid: the key at json:/s is empty");
  EXPECT_TRUE(refusal_at(R"({"id":1,"id":2})", "/id").starts_with("key.invalid: "));
}

TEST(JsonAt, RefusesWhatIsNoJson) {
  for (const Bytes& bad : {R"({"id":1)"s, "{'id':1}"s, R"({"id":01})"s, R"({"id":1} x)"s,
                           "{\"id\":\"\xff\"}"s, "{\"id\":\"\0\"}"s, " "s, "nil"s}) {
    EXPECT_TRUE(refusal_at(bad, "/id").starts_with("payload.invalid: the payload is ")) << bad;
  }
  EXPECT_EQ(found(R"({"id":1})", "/id"), "1") << "the one after it is read";
}

TEST(JsonAt, RefusesABadPointer) {
  EXPECT_TRUE(refusal_at(R"({"id":1})", "id").starts_with(": \"id\" is not a JSON pointer"));
  EXPECT_TRUE(refusal_at("not read", "/a~2").starts_with(": \"/a~2\" is not a JSON pointer"));
}

TEST(JsonAt, ReadsHugeAndRefusesDeepInput) {
  const std::string huge(std::size_t{20} << 20U, 'x');
  EXPECT_EQ(found("{\"pad\":\"" + huge + "\",\"id\":\"a\"}", "/id"), "a");
  EXPECT_EQ(found("{\"id\":\"" + huge + "\"}", "/id").size(), huge.size());
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "7" + std::string(depth, ']');
  };
  std::string pointer;
  for (std::size_t depth = 0; depth < json::kMaxDepth; ++depth) pointer += "/0";
  EXPECT_EQ(found(nested(json::kMaxDepth), pointer), "7");
  EXPECT_TRUE(refusal_at(nested(json::kMaxDepth + 1), pointer).starts_with("payload.invalid: "));
  EXPECT_TRUE(refusal_at(nested(1 << 20), "/0").starts_with("payload.invalid: "));
}

// In a run the same payloads have the same keys, and the same reasons where they have none.
TEST(JsonAt, AgreesWithTheIntake) {
  core::KeyRecipe recipe;
  recipe.parts.push_back(core::KeyPart::parse("json:/id").value());
  core::Intake intake(ConsumerNumber{1}, std::move(recipe), {});
  for (const char* payload :
       {R"({"id":"p-1"})", R"({"id":"\u00e4"})", R"({"id":-0})", R"({"id":1e3})", R"({"id":1.5})",
        R"({"id":123456789012345678901})", R"({"id":null})", R"({"id":""})", R"({"id":{}})",
        R"({"id":1,"id":2})", R"({"other":1})", "{", "", "[]"}) {
    SCOPED_TRACE(payload);
    Arrival arrival;
    arrival.payload = payload;
    const auto here = json_at(payload, "/id");
    const auto there = intake.key(arrival);
    if (here && *here) {
      ASSERT_TRUE(there) << there.error().error;
      EXPECT_EQ(**here, *there);
    } else if (here) {
      ASSERT_FALSE(there);
      EXPECT_EQ(there.error().reason, reason::kKeyMissing);
    } else {
      ASSERT_FALSE(there);
      EXPECT_EQ(here.error().code, there.error().reason);
      EXPECT_EQ(here.error().message, there.error().error);
    }
  }
}

}  // namespace
}  // namespace semel
