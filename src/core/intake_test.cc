#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include <semel/guard.h>
#include <semel/reason.h>

#include "core/intake.h"
#include "core/key_encoding.h"
#include "core/test_recipe.h"

namespace semel::core {
namespace {

constexpr ConsumerNumber kIntakeConsumer{5};

Arrival file_arrival(std::string payload) {
  Arrival a;
  a.payload = std::move(payload);
  a.partition = "file";
  a.position = "17";
  return a;
}

struct IntakeTest : testing::Test {
  KeyRecipe r = recipe({"json:/id"});
  Limits limits;

  tl::expected<Message, Refusal> make(Arrival& a) {
    return Intake(kIntakeConsumer, r, limits).make(a);
  }
  tl::expected<Message, Refusal> make(std::string payload) {
    Arrival a = file_arrival(std::move(payload));
    return make(a);
  }
  std::string key(std::string payload) { return make(std::move(payload)).value().key().text; }
  std::string refused(std::string payload) {
    const auto made = make(std::move(payload));
    if (made) return "made";
    EXPECT_FALSE(made.error().error.empty());
    return made.error().reason;
  }
};

TEST_F(IntakeTest, MakesAMessage) {
  Arrival a = file_arrival(R"({"id":"p-1"})");
  a.headers = {{"h", "v"}};
  a.content_type = "application/json";
  a.type = "paid";
  const Message m = make(a).value();
  EXPECT_EQ(m.key().text, "p-1");
  EXPECT_EQ(m.key().id, encode_key(kIntakeConsumer, "p-1"));
  EXPECT_EQ(m.ordering_key(), "p-1");
  EXPECT_EQ(m.payload(), R"({"id":"p-1"})");
  EXPECT_EQ(m.fingerprint(), fingerprint_of(R"({"id":"p-1"})"));
  EXPECT_EQ(m.header("H"), "v");
  EXPECT_EQ(m.content_type(), "application/json");
  EXPECT_EQ(m.type(), "paid");
  EXPECT_TRUE(a.payload.empty() && a.headers.empty()) << "they have moved";
}

TEST_F(IntakeTest, AStringIsTakenUnescapedAndAnIntegerAsWritten) {
  EXPECT_EQ(key(R"({"id":"a\u0041\n"})"), "aA\n");
  EXPECT_EQ(key(R"({"id":42})"), "42");
  EXPECT_EQ(key(R"({"id":-0})"), "-0");
  EXPECT_EQ(key(R"({"id":123456789012345678901234567890})"), "123456789012345678901234567890");
  EXPECT_EQ(key(R"({"id":"a\u0000b"})"), std::string("a\0b", 3));
}

TEST_F(IntakeTest, WhatIsNoKeyIsRefused) {
  for (const char* bad :
       {R"({"id":null})", R"({"id":""})", R"({"id":1.0})", R"({"id":1e3})", R"({"id":true})",
        R"({"id":{}})", R"({"id":[1]})", R"({"id":1,"id":2})"}) {
    EXPECT_EQ(refused(bad), reason::kKeyInvalid) << bad;
  }
  for (const char* missing : {"", "{}", "[]", R"({"ID":1})", "1", "\"id\""}) {
    EXPECT_EQ(refused(missing), reason::kKeyMissing) << missing;
  }
  for (const char* broken : {" ", "{", "not json", "\xFF", R"({"id":1)", "{\"id\":1}\n{}"}) {
    EXPECT_EQ(refused(broken), reason::kPayloadInvalid) << broken;
  }
  EXPECT_EQ(refused(std::string(100'000, '[')), reason::kPayloadInvalid);
  EXPECT_EQ(refused(std::string("{\"id\":1}\0", 9)), reason::kPayloadInvalid);
}

TEST_F(IntakeTest, ARefusedArrivalIsLeftWhole) {
  Arrival a = file_arrival("not json");
  a.headers = {{"h", "v"}};
  EXPECT_FALSE(make(a));
  EXPECT_EQ(a.payload, "not json");
  EXPECT_EQ(a.headers.size(), 1U);
}

TEST_F(IntakeTest, TheFirstPartPresentMakesTheKey) {
  r = recipe({"header:Idempotency-Key", "broker_key", "json:/id"});
  Arrival a = file_arrival(R"({"id":"from json"})");
  a.headers = {{"idempotency-key", "from header"}};
  a.broker_key = "from broker";
  EXPECT_EQ(make(a)->key().text, "from header");
  a = file_arrival(R"({"id":"from json"})");
  a.broker_key = "from broker";
  EXPECT_EQ(make(a)->key().text, "from broker");
  a = file_arrival(R"({"id":"from json"})");
  EXPECT_EQ(make(a)->key().text, "from json");
}

TEST_F(IntakeTest, AnEmptyPayloadHasNothingAtAnyPointer) {
  r = recipe({"header:id", "cloudevents", "json:/id", "broker_key"});
  Arrival tombstone = file_arrival("");
  tombstone.content_type = "application/cloudevents+json";
  tombstone.broker_key = "order-1";
  EXPECT_EQ(make(tombstone)->key().text, "order-1");
  Arrival nowhere = file_arrival("");
  const auto made = make(nowhere);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, reason::kKeyMissing);
  EXPECT_NE(made.error().error.find("the payload is empty"), std::string::npos);
  Arrival broken = file_arrival("{");
  broken.broker_key = "order-1";
  EXPECT_EQ(make(broken).error().reason, reason::kPayloadInvalid) << "it is not passed over";
}

TEST_F(IntakeTest, AnEmptyPayloadHasAFingerprintOfFields) {
  r = recipe({"json:/id", "broker_key"});
  r.fingerprint = KeyRecipe::FingerprintOf::kFields;
  r.fingerprint_fields = {json::Pointer::parse("/a").value()};
  Arrival tombstone = file_arrival("");
  tombstone.broker_key = "order-1";
  const auto made = make(tombstone);
  ASSERT_TRUE(made) << made.error().error;
  EXPECT_NE(made->fingerprint(), make(R"({"id":"order-1","a":1})")->fingerprint());
}

TEST_F(IntakeTest, FramingAndCompressionAreNamed) {
  const auto error = [&](std::string payload) {
    Arrival arrival = file_arrival(std::move(payload));
    return make(arrival).error().error;
  };
  EXPECT_NE(error("\x1F\x8B\x08 and more").find("gzip"), std::string::npos);
  EXPECT_NE(error(std::string("\0\0\0\1\2{\"id\":1}", 13)).find("Confluent"), std::string::npos);
}

TEST_F(IntakeTest, AnEmptyPartIsNotPassedOver) {
  r = recipe({"header:k", "json:/id"});
  Arrival a = file_arrival(R"({"id":"x"})");
  a.headers = {{"k", ""}};
  EXPECT_EQ(make(a).error().reason, reason::kKeyInvalid);
}

TEST_F(IntakeTest, APayloadIsNotReadWhereNoPartLooksIntoIt) {
  r = recipe({"header:k", "json:/id"});
  Arrival a = file_arrival("\xFF not json");
  a.headers = {{"k", "x"}};
  EXPECT_TRUE(make(a));
}

TEST_F(IntakeTest, JoinedPartsNeverMeet) {
  r = recipe({"json:/a", "json:/b"});
  r.join = true;
  EXPECT_EQ(key(R"({"a":"x","b":7})"), "x|7");
  EXPECT_NE(key(R"({"a":"x|y","b":"z"})"), key(R"({"a":"x","b":"y|z"})"));
  EXPECT_NE(key(R"({"a":"x%7C","b":"z"})"), key(R"({"a":"x|","b":"z"})"));
  EXPECT_EQ(refused(R"({"a":"x"})"), reason::kKeyMissing);
  EXPECT_EQ(refused(R"({"a":"","b":"x"})"), reason::kKeyInvalid);
}

TEST_F(IntakeTest, APositionNamesTheCopy) {
  r = recipe({"position"});
  Arrival a = file_arrival("any bytes"), b = file_arrival("any bytes"),
          c = file_arrival("any bytes");
  b.position = "18";
  c.partition = "other";
  const Message m = make(a).value();
  EXPECT_EQ(class_of(m.key().id), KeyClass::kPosition);
  EXPECT_LT(m.key().id, make(b)->key().id);
  EXPECT_NE(m.key().id, make(c)->key().id);
  Arrival nowhere = file_arrival("x");
  nowhere.position = "";
  EXPECT_EQ(make(nowhere).error().reason, reason::kKeyMissing);
}

TEST_F(IntakeTest, WhatWasHeldKeepsItsKeyAndFingerprint) {
  for (const char* text : {"position", "json:/id"}) {
    r = recipe({text});
    Arrival first = file_arrival(R"({"id":"p-1"})");
    const Message before = make(first).value();
    Arrival again = file_arrival("another body");
    again.key = before.key().text;
    again.fingerprint = before.fingerprint();
    const Message after = make(again).value();
    EXPECT_EQ(after.key().id, before.key().id) << text;
    EXPECT_EQ(after.fingerprint(), before.fingerprint());
  }
}

TEST_F(IntakeTest, WhatWasHeldWithoutAKeyIsReadAnew) {
  Arrival a = file_arrival(R"({"id":"p-1"})");
  a.key = "";
  EXPECT_EQ(make(a)->key().text, "p-1");
}

TEST_F(IntakeTest, AFunctionFindsTheKey) {
  r = recipe({"function"});
  Arrival none = file_arrival("x");
  EXPECT_EQ(make(none).error().reason, reason::kKeyInvalid) << "no function was given";
  r.function = [](const Arrival& a) -> std::optional<Bytes> {
    if (a.payload == "throw") throw std::runtime_error("why");
    if (a.payload == "throw 7") throw 7;
    if (a.payload == "none") return std::nullopt;
    return a.payload;
  };
  EXPECT_EQ(key("abc"), "abc");
  EXPECT_EQ(refused("none"), reason::kKeyMissing);
  EXPECT_EQ(refused(""), reason::kKeyInvalid);
  EXPECT_EQ(refused("throw"), reason::kKeyInvalid);
  EXPECT_EQ(refused("throw 7"), reason::kKeyInvalid);
}

TEST_F(IntakeTest, SizesAreLimitedAndNeverCut) {
  limits = {.key = 10, .payload = 30, .headers = 8, .result = 1};
  EXPECT_EQ(key(R"({"id":"1234567890"})"), "1234567890");
  EXPECT_EQ(refused(R"({"id":"12345678901"})"), reason::kTooLarge);
  EXPECT_EQ(refused(std::string(31, ' ')), reason::kTooLarge);
  Arrival a = file_arrival(R"({"id":1})");
  a.headers = {{"name", "valu"}};
  EXPECT_TRUE(make(a));
  a = file_arrival(R"({"id":1})");
  a.headers = {{"name", "value"}};
  EXPECT_EQ(make(a).error().reason, reason::kTooLarge);
}

TEST_F(IntakeTest, AFingerprintOfFieldsSeesOnlyThem) {
  r.fingerprint = KeyRecipe::FingerprintOf::kFields;
  r.fingerprint_fields = {json::Pointer::parse("/a").value(), json::Pointer::parse("/b").value()};
  const auto of = [&](std::string payload) { return make(std::move(payload))->fingerprint(); };
  const Fingerprint base = of(R"({"id":1,"a":"x","b":2})");
  EXPECT_EQ(base, of(R"({"b":2, "id":1, "a":"x", "sent_at":"later"})"));
  EXPECT_NE(base, of(R"({"id":1,"a":"y","b":2})"));
  EXPECT_NE(base, of(R"({"id":1,"a":"x"})"));
  EXPECT_NE(of(R"({"id":1,"a":null})"), of(R"({"id":1})"));
  EXPECT_NE(of(R"({"id":1,"a":1})"), of(R"({"id":1,"a":"1"})"));
  EXPECT_NE(of(R"({"id":1,"a":{"n":1}})"), of(R"({"id":1,"a":{"n":2}})"));
  EXPECT_NE(of(R"({"id":1,"a":true})"), of(R"({"id":1,"a":false})"));
  EXPECT_NE(of(R"({"id":1,"a":1.0})"), of(R"({"id":1,"a":1})"));
  EXPECT_EQ(refused(R"({"id":1,"a":1,"a":2})"), reason::kPayloadInvalid);
}

TEST_F(IntakeTest, AFingerprintOfJsonSeesWhatIsSaidAndNotHowItIsWritten) {
  r.fingerprint = KeyRecipe::FingerprintOf::kJson;
  const auto of = [&](std::string payload) { return make(std::move(payload))->fingerprint(); };
  const Fingerprint base = of(R"({"id":1,"a":{"x":1.5,"y":"\u0041"}})");
  EXPECT_EQ(base, of("{ \"a\" : {\"y\":\"A\", \"x\": 1.50},\r\n \"id\" : 1 }"));
  EXPECT_NE(base, of(R"({"id":1,"a":{"x":1.5,"y":"B"}})"));
  EXPECT_NE(base, of(R"({"id":1,"a":{"x":"1.5","y":"A"}})"));
  EXPECT_NE(of(R"({"id":1,"a":[1,2]})"), of(R"({"id":1,"a":[2,1]})"));
}

TEST_F(IntakeTest, AFingerprintOfJsonNeedsJsonOrNothingAtAll) {
  r = recipe({"header:id"});
  r.fingerprint = KeyRecipe::FingerprintOf::kJson;
  Arrival a = file_arrival("not json");
  a.headers = {{"id", "1"}};
  EXPECT_EQ(make(a).error().reason, reason::kPayloadInvalid);
  a = file_arrival("");
  a.headers = {{"id", "1"}};
  EXPECT_EQ(make(a)->fingerprint(), fingerprint_of(""));
}

TEST_F(IntakeTest, NoFingerprintIsAllZero) {
  r.fingerprint = KeyRecipe::FingerprintOf::kNone;
  EXPECT_EQ(make(R"({"id":1})")->fingerprint(), Fingerprint{});
}

TEST_F(IntakeTest, WhatTheSourceRefusedStaysRefused) {
  Arrival a = file_arrival("cut off");
  a.refused = std::string(reason::kTooLarge);
  a.refused_error = "a line of 1 GB";
  const auto made = make(a);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, reason::kTooLarge);
  EXPECT_EQ(made.error().error, "a line of 1 GB");
}

TEST_F(IntakeTest, OneIntakeServesMany) {
  Intake intake(kIntakeConsumer, r, limits);
  Arrival good = file_arrival(R"({"id":1})"), bad = file_arrival("{"),
          other = file_arrival(R"({"id":2})");
  EXPECT_EQ(intake.make(good)->key().text, "1");
  EXPECT_FALSE(intake.make(bad));
  EXPECT_EQ(intake.make(other)->key().text, "2");
}

TEST(RefusedMessage, IsTheSameForTheSameArrival) {
  Arrival a = file_arrival("junk"), same = file_arrival("junk"), elsewhere = file_arrival("junk");
  a.headers = {{"h", "v"}};
  elsewhere.position = "18";
  const Message m = refused_message(kIntakeConsumer, a);
  EXPECT_EQ(m.key().text, "");
  EXPECT_EQ(m.payload(), "junk");
  EXPECT_EQ(m.headers().size(), 1U);
  EXPECT_EQ(m.fingerprint(), fingerprint_of("junk"));
  EXPECT_EQ(m.key().id.consumer(), kIntakeConsumer);
  EXPECT_EQ(m.key().id, refused_message(kIntakeConsumer, same).key().id);
  EXPECT_NE(m.key().id, refused_message(kIntakeConsumer, elsewhere).key().id);
}

Order ordered_by(std::string_view part, Order::OnFailure on_failure = Order::OnFailure::kHoldKey) {
  Order order;
  order.key = KeyPart::parse(part).value();
  order.on_failure = on_failure;
  return order;
}

TEST(IntakeOrder, TheOrderingKeyIsTheLine) {
  Intake intake(kIntakeConsumer, recipe({"json:/id"}), {}, ordered_by("json:/sku"));
  Arrival a = file_arrival(R"({"id":"m-1","sku":"bolt"})");
  EXPECT_EQ(intake.line_of(a), "bolt");
  const auto message = intake.make(a);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->ordering_key(), "bolt");
  EXPECT_EQ(message->key().text, "m-1");
  EXPECT_EQ(a.line, "bolt");
}

TEST(IntakeOrder, WhatHasNoneStandsInNoLine) {
  Intake intake(kIntakeConsumer, recipe({"json:/id"}), {}, ordered_by("json:/sku"));
  Arrival a = file_arrival(R"({"id":"m-1"})");
  EXPECT_FALSE(intake.line_of(a));
  const auto message = intake.make(a);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->ordering_key(), "m-1");
  EXPECT_FALSE(a.line);
}

TEST(IntakeOrder, AnEmptyPayloadStandsInNoLine) {
  Intake intake(kIntakeConsumer, recipe({"broker_key"}), {}, ordered_by("json:/sku"));
  Arrival a = file_arrival("");
  a.broker_key = "order-1";
  ASSERT_TRUE(intake.make(a));
  EXPECT_FALSE(a.line);
}

TEST(IntakeOrder, WhatCannotBeOneIsRefused) {
  Intake intake(kIntakeConsumer, recipe({"json:/id"}), {}, ordered_by("json:/sku"));
  Arrival a = file_arrival(R"({"id":"m-1","sku":[1]})");
  EXPECT_FALSE(intake.line_of(a));
  const auto message = intake.make(a);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().reason, reason::kKeyInvalid);
  EXPECT_NE(message.error().error.find("json:/sku"), std::string::npos) << message.error().error;
  Arrival large = file_arrival(R"({"id":"m-1","sku":")" + std::string(70'000, 'x') + R"("})");
  EXPECT_EQ(intake.make(large).error().reason, reason::kTooLarge);
}

TEST(IntakeOrder, BlockedIsThePartitionAndSkipNothing) {
  Intake block(kIntakeConsumer, recipe({"json:/id"}), {},
               ordered_by("json:/sku", Order::OnFailure::kBlock));
  Arrival a = file_arrival(R"({"id":"m-1","sku":"bolt"})");
  EXPECT_EQ(block.line_of(a), "file");
  ASSERT_TRUE(block.make(a));
  EXPECT_EQ(a.line, "file");
  Intake skip(kIntakeConsumer, recipe({"json:/id"}), {},
              ordered_by("json:/sku", Order::OnFailure::kSkip));
  Arrival b = file_arrival(R"({"id":"m-1","sku":"bolt"})");
  EXPECT_EQ(skip.make(b)->ordering_key(), "bolt") << "one at a time in this process all the same";
  EXPECT_FALSE(b.line);
}

TEST(IntakeOrder, ARowOfTheStoreKeepsTheLineItBrings) {
  Intake intake(kIntakeConsumer, recipe({"json:/id"}), {}, ordered_by("json:/sku"));
  Arrival a = file_arrival(R"({"id":"m-1","sku":"bolt"})");
  a.row = RowTag{7};
  a.line = "nut";
  ASSERT_TRUE(intake.make(a));
  EXPECT_EQ(a.line, "nut");
}

TEST_F(IntakeTest, BeginsTheSpanOfAMessage) {
  const auto span = std::make_shared<const DeliverySpan>();
  Headers seen;
  Intake intake(kIntakeConsumer, r, limits, std::nullopt,
                [&](const Key& found, const Headers& headers) {
                  seen = headers;
                  return found.text == "traced" ? span : nullptr;
                });
  Arrival traced = file_arrival(R"({"id":"traced"})");
  traced.headers = {{"traceparent", "00-"}};
  EXPECT_EQ(intake.make(traced).value().span(), span);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].value, "00-");
  Arrival other = file_arrival(R"({"id":"other"})");
  EXPECT_EQ(intake.make(other).value().span(), nullptr);
  EXPECT_EQ(make(R"({"id":"traced"})").value().span(), nullptr) << "nothing is traced";
}

}  // namespace
}  // namespace semel::core
