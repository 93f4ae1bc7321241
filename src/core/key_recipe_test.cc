#include "core/key_recipe.h"

#include <gtest/gtest.h>

#include "core/key_encoding.h"

namespace semel::core {
namespace {

KeyPart part(std::string_view text) { return KeyPart::parse(text).value(); }

KeyRecipe recipe(std::vector<std::string> parts) {
  KeyRecipe r;
  for (const std::string& text : parts) r.parts.push_back(part(text));
  return r;
}

TEST(KeyPart, IsParsed) {
  EXPECT_EQ(std::get<KeyPart::JsonPart>(part("json:/a/b").what).pointer.text(), "/a/b");
  EXPECT_EQ(std::get<KeyPart::JsonPart>(part("json:").what).pointer.text(), "");
  EXPECT_EQ(std::get<KeyPart::HeaderPart>(part("header:Idempotency-Key").what).name,
            "Idempotency-Key");
  EXPECT_TRUE(std::holds_alternative<KeyPart::BrokerKeyPart>(part("broker_key").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::PositionPart>(part("position").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::FunctionPart>(part("function").what));
  EXPECT_EQ(part("json:/a").text, "json:/a");
}

TEST(KeyPart, RefusesAllElse) {
  for (const char* bad : {"", "json", "json:a", "json:/~2", "header:", "header", "Position",
                          "position ", "/id", "id", "cookie:x"}) {
    const Result<KeyPart> answer = KeyPart::parse(bad);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.error().kind, ErrorKind::kRejected);
    EXPECT_FALSE(answer.error().hint.empty());
  }
}

TEST(KeyRecipeHash, ChangesWithWhatMakesKeysNew) {
  const KeyRecipe base = recipe({"json:/id"});
  EXPECT_EQ(base.hash(), recipe({"json:/id"}).hash());
  EXPECT_NE(base.hash(), recipe({"json:/id2"}).hash());
  EXPECT_NE(base.hash(), recipe({"json:/id", "position"}).hash());
  EXPECT_NE(recipe({"json:/a", "json:/b"}).hash(), recipe({"json:/b", "json:/a"}).hash());
  KeyRecipe joined = base;
  joined.join = true;
  EXPECT_NE(base.hash(), joined.hash());
  KeyRecipe none = base;
  none.fingerprint = KeyRecipe::FingerprintOf::kNone;
  EXPECT_NE(base.hash(), none.hash());
  KeyRecipe fields = base;
  fields.fingerprint = KeyRecipe::FingerprintOf::kFields;
  fields.fingerprint_fields = {json::Pointer::parse("/x").value()};
  KeyRecipe others = fields;
  others.fingerprint_fields = {json::Pointer::parse("/y").value()};
  EXPECT_NE(fields.hash(), others.hash());
}

TEST(KeyRecipeHash, StaysWithWhatDoesNot) {
  KeyRecipe fail = recipe({"header:Idempotency-Key"});
  fail.missing = KeyRecipe::Missing::kFail;
  EXPECT_EQ(fail.hash(), recipe({"header:idempotency-KEY"}).hash());
}

TEST(KeyRecipeId, OnlyAPositionIsEncodedAsOne) {
  const ConsumerNumber consumer{3};
  const KeyRecipe position = recipe({"position"});
  EXPECT_EQ(class_of(position.id_of(consumer, "f@17")), KeyClass::kPosition);
  EXPECT_LT(position.id_of(consumer, "f@9"), position.id_of(consumer, "f@10"));
  EXPECT_NE(position.id_of(consumer, "f@9"), position.id_of(consumer, "g@9"));
  EXPECT_EQ(class_of(position.id_of(consumer, "f@")), KeyClass::kDigest);
  EXPECT_EQ(class_of(position.id_of(consumer, "f@017")), KeyClass::kDigest)
      << "another spelling is another key";
  EXPECT_EQ(class_of(position.id_of(consumer, "f@99999999999999999999")), KeyClass::kDigest);
  EXPECT_EQ(class_of(recipe({"json:/id"}).id_of(consumer, "f@17")), KeyClass::kDigest);
  EXPECT_EQ(class_of(recipe({"position", "json:/id"}).id_of(consumer, "f@17")), KeyClass::kDigest);
}

}  // namespace
}  // namespace semel::core
