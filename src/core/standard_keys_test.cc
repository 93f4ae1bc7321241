// The keys that standards define, as an intake finds them.
#include "core/standard_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include <semel/guard.h>
#include <semel/reason.h>

#include "core/intake.h"
#include "core/key_encoding.h"

namespace semel::core {
namespace {

constexpr ConsumerNumber kStandardConsumer{7};
constexpr std::string_view kEvent =
    R"({"specversion":"1.0","source":"/shop","id":"e-1","type":"order.made","data":{}})";

Arrival arrival_with(std::string_view payload, Headers headers = {}) {
  Arrival a;
  a.payload = payload;
  a.headers = std::move(headers);
  return a;
}

struct StandardKeys : testing::Test {
  KeyRecipe r;
  void recipe(std::vector<std::string> parts) {
    r.parts.clear();
    for (const std::string& text : parts) r.parts.push_back(KeyPart::parse(text).value());
  }
  tl::expected<Message, Refusal> make(Arrival a) {
    return Intake(kStandardConsumer, r, {}).make(a);
  }
  // The key, or the reason why there is none.
  std::string found(Arrival a) {
    const auto made = make(std::move(a));
    if (made) return made->key().text;
    EXPECT_FALSE(made.error().error.empty());
    return made.error().reason;
  }
};

TEST_F(StandardKeys, ABinaryCloudEventIsFoundAsEachProtocolSpellsIt) {
  recipe({"cloudevents"});
  for (const std::string prefix : {"ce-", "CE-", "ce_", "cloudEvents:", "cloudEvents_"}) {
    const auto made = make(arrival_with(
        "x", {{prefix + "id", "e-1"}, {prefix + "source", "/shop"}, {prefix + "type", "made"}}));
    ASSERT_TRUE(made) << prefix;
    EXPECT_EQ(made->key().text, "/shop|e-1");
    EXPECT_EQ(made->type(), "made");
    EXPECT_EQ(made->fingerprint(), fingerprint_of("x")) << "of the body, whatever the key is";
  }
  EXPECT_EQ(found(arrival_with("x")), reason::kKeyMissing);
}

TEST_F(StandardKeys, AStructuredCloudEventHasTheSameKeyAsABinaryOne) {
  recipe({"cloudevents"});
  Arrival declared = arrival_with(kEvent);
  declared.content_type = "Application/CloudEvents+JSON; charset=utf-8";
  const auto made = make(declared);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->key().text, "/shop|e-1");
  EXPECT_EQ(made->type(), "order.made");
  EXPECT_EQ(found(arrival_with(kEvent, {{"content-type", "application/cloudevents+json"}})),
            "/shop|e-1");
  EXPECT_EQ(found(arrival_with(kEvent)), "/shop|e-1")
      << "specversion, source and id say what it is";
  EXPECT_EQ(found(arrival_with("x", {{"ce-id", "e-1"}, {"ce-source", "/shop"}})), "/shop|e-1");
}

TEST_F(StandardKeys, WhatTheSourceSaysOfTheTypeOutranksTheEvent) {
  recipe({"cloudevents"});
  Arrival a = arrival_with(kEvent, {{"ce-type", "header"}});
  a.type = "source";
  EXPECT_EQ(make(a)->type(), "source");
  EXPECT_EQ(make(arrival_with(kEvent, {{"ce-type", "header"}}))->type(), "header");
  recipe({"header:k"});
  EXPECT_EQ(make(arrival_with("x", {{"k", "1"}, {"ce-type", "made"}}))->type(), "made")
      << "also where another part makes the key";
}

TEST_F(StandardKeys, WhatIsNoCloudEventIsMissingAndABrokenOneIsInvalid) {
  recipe({"cloudevents"});
  for (const char* other : {"", "x", "{", "[]", R"({"id":"e","source":"s"})",
                            R"({"specversion":"1.0","id":"e"})", R"("{\"specversion\":1}")"}) {
    EXPECT_EQ(found(arrival_with(other)), reason::kKeyMissing) << other;
  }
  for (const char* broken : {R"({"specversion":"1.0","source":"","id":"e"})",
                             R"({"specversion":"1.0","source":"s","id":7})",
                             R"({"specversion":"1.0","source":"s","id":"a\u0000b"})",
                             R"({"specversion":"1.0","source":"s","id":"e","id":"f"})",
                             R"({"specversion":"1.0","source":null,"id":"e"})"}) {
    EXPECT_EQ(found(arrival_with(broken)), reason::kKeyInvalid) << broken;
  }
  Arrival declared = arrival_with("{}");
  declared.content_type = "application/cloudevents+json";
  EXPECT_EQ(found(declared), reason::kKeyInvalid);
  declared.payload = "not json";
  EXPECT_EQ(found(declared), reason::kPayloadInvalid);
  declared.payload = "[]";
  declared.content_type = "application/cloudevents-batch+json";
  EXPECT_EQ(found(declared), reason::kKeyInvalid);
  EXPECT_EQ(found(arrival_with(kEvent, {{"ce-id", "e"}})), reason::kKeyInvalid) << "half an event";
  EXPECT_EQ(found(arrival_with("x", {{"ce-source", "s"}})), reason::kKeyInvalid);
}

TEST_F(StandardKeys, HostileHeadersEndAsInvalid) {
  const std::string nul("a\0b", 3);
  for (const std::string& bad : {std::string(), nul, std::string("\xFF\xFE"), std::string("a\nb"),
                                 std::string("a\x7F"), std::string("\xC3")}) {
    recipe({"cloudevents"});
    EXPECT_EQ(found(arrival_with("x", {{"ce-id", bad}, {"ce-source", "s"}})), reason::kKeyInvalid);
    EXPECT_EQ(found(arrival_with("x", {{"ce-id", "e"}, {"ce-source", bad}})), reason::kKeyInvalid);
    recipe({"idempotency-key", "json:/id"});
    EXPECT_EQ(found(arrival_with(R"({"id":1})", {{"Idempotency-Key", bad}})), reason::kKeyInvalid);
    recipe({"auto"});
    EXPECT_EQ(found(arrival_with("x", {{"webhook-id", bad}})), reason::kKeyInvalid);
  }
  recipe({"auto"});
  EXPECT_EQ(found(arrival_with("x", {{"webhook-id", std::string(100 << 10, 'a')}})),
            reason::kTooLarge);
}

TEST_F(StandardKeys, AHeaderGivenTwiceIsAKeyOnlyWhereBothAgree) {
  for (const char* part : {"idempotency-key", "header:Idempotency-Key", "auto"}) {
    recipe({part});
    EXPECT_EQ(found(arrival_with("x", {{"Idempotency-Key", "a"}, {"idempotency-key", "b"}})),
              reason::kKeyInvalid)
        << part;
    EXPECT_EQ(found(arrival_with("x", {{"Idempotency-Key", "a"}, {"idempotency-key", "a"}})), "a");
  }
  recipe({"cloudevents"});
  const auto twice =
      make(arrival_with("x", {{"ce_id", "a"}, {"cloudEvents:id", "b"}, {"ce-source", "s"}}));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().reason, reason::kKeyInvalid);
  EXPECT_NE(twice.error().error.find("ce-id stands twice"), std::string::npos)
      << twice.error().error;
}

TEST_F(StandardKeys, AnIdempotencyKeyMayBeQuoted) {
  recipe({"idempotency-key"});
  const auto key = [&](std::string value) {
    return found(arrival_with("x", {{"Idempotency-Key", std::move(value)}}));
  };
  EXPECT_EQ(key("\"8e03978e\""), "8e03978e");
  EXPECT_EQ(key("8e03978e"), "8e03978e");
  EXPECT_EQ(key(" \t\"a b\" "), "a b");
  EXPECT_EQ(key(R"("a\"b\\c")"), "a\"b\\c");
  EXPECT_EQ(key(R"("a";retried=?1)"), "a");
  EXPECT_EQ(key("a\"b"), "a\"b");
  for (const char* bad : {"\"", "\"a", "\"\"", "\"a\" b", "\"a\\", R"("a\b")", "\"a\\\""}) {
    EXPECT_EQ(key(bad), reason::kKeyInvalid) << bad;
  }
}

TEST_F(StandardKeys, AutoTakesTheFirstOneInItsOrder) {
  recipe({"auto"});
  Arrival a = arrival_with(kEvent, {{"webhook-id", "w"}, {"idempotency-key", "i"}});
  a.broker_key = "b";
  EXPECT_EQ(found(a), "/shop|e-1");
  a.payload = R"({"id":"no event"})";
  EXPECT_EQ(found(a), "i");
  a.headers.pop_back();
  EXPECT_EQ(found(a), "w");
  a.headers.clear();
  EXPECT_EQ(found(a), "b");
  a.broker_key.reset();
  a.position = "17";
  EXPECT_EQ(found(a), reason::kKeyMissing) << "a position is never a default";
  recipe({"auto", "json:/id"});
  EXPECT_EQ(found(a), "no event");
}

TEST_F(StandardKeys, NoTwoPairsOfSourceAndIdMeet) {
  std::mt19937 random(20'260'101);
  const std::string_view alphabet = "ab|%7C/";
  std::map<Bytes, std::pair<Bytes, Bytes>> seen;
  recipe({"cloudevents"});
  for (int i = 0; i < 20'000; ++i) {
    Bytes texts[2];
    for (Bytes& text : texts) {
      for (std::size_t left = 1 + random() % 4; left > 0; --left) {
        text += alphabet[random() % alphabet.size()];
      }
    }
    const auto made = make(arrival_with("x", {{"ce-source", texts[0]}, {"ce-id", texts[1]}}));
    ASSERT_TRUE(made);
    const auto [at, fresh] = seen.try_emplace(made->key().text, texts[0], texts[1]);
    if (fresh) continue;
    EXPECT_EQ(at->second, std::pair(texts[0], texts[1])) << made->key().text;
  }
  EXPECT_GT(seen.size(), 5'000U);
}

TEST_F(StandardKeys, AMissingKeyMayBeTheBody) {
  recipe({"header:k"});
  r.missing = KeyRecipe::Missing::kHashBody;
  const std::string one = found(arrival_with("one"));
  EXPECT_TRUE(one.starts_with("body-sha256:")) << one;
  EXPECT_TRUE(is_body_key(one));
  EXPECT_EQ(one, found(arrival_with("one", {{"other", "header"}})));
  EXPECT_NE(one, found(arrival_with("two")));
  EXPECT_EQ(found(arrival_with("one", {{"k", "given"}})), "given");
  EXPECT_EQ(found(arrival_with("one", {{"k", ""}})), reason::kKeyInvalid) << "empty is not missing";
  EXPECT_EQ(found(arrival_with("")), reason::kKeyMissing) << "nothing tells two of these apart";
  EXPECT_EQ(found(arrival_with("x", {{"k", one}})), reason::kKeyInvalid)
      << "a key may not pose as a body";
  r.missing = KeyRecipe::Missing::kDeadLetter;
  EXPECT_EQ(found(arrival_with("x", {{"k", one}})), one);
  EXPECT_EQ(found(arrival_with("one")), reason::kKeyMissing);
}

TEST_F(StandardKeys, AHeldMessageKnownByItsBodyKeepsItsKey) {
  recipe({"header:k"});
  r.missing = KeyRecipe::Missing::kHashBody;
  const auto before = make(arrival_with("one"));
  Arrival held = arrival_with("one");
  held.key = before->key().text;
  held.fingerprint = before->fingerprint();
  EXPECT_EQ(make(held)->key().id, before->key().id);
}

}  // namespace
}  // namespace semel::core
