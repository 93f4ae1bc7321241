#include "core/key_recipe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "core/test_recipe.h"

namespace semel::core {
namespace {

KeyPart part(std::string_view text) { return KeyPart::parse(text).value(); }

TEST(KeyPart, IsParsed) {
  EXPECT_EQ(std::get<KeyPart::JsonPart>(part("json:/a/b").what).pointer.text(), "/a/b");
  EXPECT_EQ(std::get<KeyPart::JsonPart>(part("json:").what).pointer.text(), "");
  EXPECT_EQ(std::get<KeyPart::HeaderPart>(part("header:Idempotency-Key").what).name,
            "Idempotency-Key");
  EXPECT_TRUE(std::holds_alternative<KeyPart::BrokerKeyPart>(part("broker_key").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::PositionPart>(part("position").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::FunctionPart>(part("function").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::CloudEventPart>(part("cloudevents").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::IdempotencyKeyPart>(part("idempotency-key").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::WebhookIdPart>(part("webhook-id").what));
  EXPECT_TRUE(std::holds_alternative<KeyPart::AutoPart>(part("auto").what));
  EXPECT_EQ(part("json:/a").text, "json:/a");
}

TEST(KeyPart, RefusesAllElse) {
  for (const char* bad :
       {"", "json", "json:a", "json:/~2", "header:", "header", "Position", "position ", "/id", "id",
        "cookie:x", "Auto", "cloudevents:id", "Idempotency-Key"}) {
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
  KeyRecipe said = base;
  said.fingerprint = KeyRecipe::FingerprintOf::kJson;
  EXPECT_NE(base.hash(), said.hash());
  EXPECT_NE(none.hash(), said.hash());
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

// The value that stores of earlier versions remember. Another value would make all their keys new.
TEST(KeyRecipeHash, IsThatOfEarlierVersions) {
  const auto hex = [](const KeyRecipe& r) { return digest::hex(r.hash()); };
  EXPECT_EQ(hex(recipe({})), "0121c53be2f92f0e67182ed05fa72808");
  EXPECT_EQ(hex(recipe({"json:/id"})), "9c8089d76d8d4f3ec2d3e9a8c8cb7a60");
  EXPECT_EQ(hex(recipe({"position"})), "b19a56c12f34d1042240dad7dde56f73");
  EXPECT_EQ(hex(recipe({"function"})), "19a016d21ace2078ec522359809ea1f3");
  EXPECT_EQ(hex(recipe({"broker_key"})), "90a66564512218cd212b7e83e444bafc");
  EXPECT_EQ(hex(recipe({"header:Idempotency-Key", "json:/a", "position"})),
            "1fa31744e32f46fbf279fdd95a8f6acd");
  KeyRecipe joined = recipe({"json:/a", "json:/b"});
  joined.join = true;
  joined.fingerprint = KeyRecipe::FingerprintOf::kFields;
  joined.fingerprint_fields = {json::Pointer::parse("/x").value()};
  EXPECT_EQ(hex(joined), "78f0a1cf776b9ab9384c8518edf8c334");
  KeyRecipe none = recipe({"json:/id"});
  none.fingerprint = KeyRecipe::FingerprintOf::kNone;
  EXPECT_EQ(hex(none), "d4d39efa0230c44e9f01ea601ec69bcc");
}

TEST(KeyRecipeHash, TellsTheStandardsApartAndAutoIsTheUnnamedRecipe) {
  EXPECT_EQ(recipe({"auto"}).hash(), recipe({}).hash());
  EXPECT_NE(recipe({"auto", "json:/id"}).hash(), recipe({"json:/id"}).hash());
  EXPECT_NE(recipe({"idempotency-key"}).hash(), recipe({"header:idempotency-key"}).hash())
      << "one takes the quotes off";
  EXPECT_NE(recipe({"cloudevents"}).hash(), recipe({"webhook-id"}).hash());
  KeyRecipe by_body = recipe({"json:/id"});
  by_body.missing = KeyRecipe::Missing::kHashBody;
  EXPECT_EQ(by_body.hash(), recipe({"json:/id"}).hash()) << "no key found before changes";
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

TEST(KeyRecipeId, IsAmongThePossibleOnes) {
  const ConsumerNumber consumer{3};
  for (const char* const key : {"f@17", "f@017", "order-1", "a", "17"}) {
    const auto ids = possible_ids(consumer, key);
    EXPECT_EQ(ids.front(), recipe({"json:/id"}).id_of(consumer, key)) << key;
    const KeyId position = recipe({"position"}).id_of(consumer, key);
    EXPECT_NE(std::ranges::find(ids, position), ids.end()) << key;
  }
  EXPECT_EQ(possible_ids(consumer, "a").size(), 1U);
}

}  // namespace
}  // namespace semel::core
