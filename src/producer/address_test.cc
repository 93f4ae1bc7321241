#include "producer/address.h"

#include <gtest/gtest.h>

#include "core/key_encoding.h"
#include "producer/try_end.h"

namespace semel::producer {
namespace {

KeyRules broker_rules() {
  KeyRules rules;
  rules.recipe = auto_recipe();
  rules.flaw = &header_key_flaw;
  return rules;
}

KeyRules queue_rules(std::string_view part) {
  KeyRules rules;
  rules.recipe.parts.push_back(core::KeyPart::parse(part).value());
  rules.given_first = rules.delays = true;
  return rules;
}

OutgoingMessage with(Bytes payload, Headers headers = {}, std::optional<Bytes> key = std::nullopt) {
  OutgoingMessage message;
  message.payload = std::move(payload);
  message.headers = std::move(headers);
  message.key = std::move(key);
  return message;
}

std::string key_of(const OutgoingMessage& message, const KeyRules& rules) {
  auto made = addressed(message, rules);
  if (!made) return "refused: " + made.error().message;
  EXPECT_EQ(made->payload, message.payload);
  return made->key.value_or("none");
}

TEST(Addressed, WithoutAKeyItGetsANewOne) {
  const auto first = key_of(with("{}"), broker_rules());
  const auto second = key_of(with("{}"), broker_rules());
  EXPECT_LT(first, second);
  EXPECT_EQ(core::class_of(core::encode_key(ConsumerNumber{1}, first)), core::KeyClass::kUuid);
}

TEST(Addressed, AKeyThatIsGivenOrCarriedStays) {
  EXPECT_EQ(key_of(with("{}", {}, "o-1"), broker_rules()), "o-1");
  EXPECT_EQ(key_of(with("{}", {{"idempotency-key", "\"o-2\""}}), broker_rules()), "o-2");
  EXPECT_EQ(key_of(with("{}", {{"idempotency-key", "o-3"}}, "o-3"), broker_rules()), "o-3");
  EXPECT_EQ(key_of(with("{}", {{"ce-source", "shop"}, {"ce-id", "7"}}), broker_rules()), "shop|7");
  EXPECT_EQ(key_of(with(R"({"specversion":"1.0","source":"a","id":"8"})"), broker_rules()), "a|8");
}

TEST(Addressed, TwoKeysAreOneTooMany) {
  const auto made = addressed(with("{}", {{"webhook-id", "msg_1"}}, "o-1"), broker_rules());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(made.error().code, "R332");
  EXPECT_NE(made.error().message.find("msg_1"), std::string::npos) << made.error().message;
  EXPECT_EQ(made.error().key, "o-1");
}

TEST(Addressed, AnErrorShowsTheStartOfALongKey) {
  const Bytes longest(70'000, 'k');
  const std::string start(kMostKeyText, 'k');
  const std::string shown = "\"" + start + "…\"";
  const auto given = addressed(with("{}", {}, longest), queue_rules("auto"));
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().message.rfind("message " + shown + " cannot be sent: ", 0), 0U)
      << given.error().message;
  EXPECT_LT(given.error().message.size(), 300U) << given.error().message;
  EXPECT_EQ(given.error().key, longest);
  const Bytes carried(60'000, 'k');
  const auto other = addressed(with("{}", {{"webhook-id", carried}}, "o-1"), broker_rules());
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another key, " + shown), std::string::npos)
      << other.error().message;
  const auto control = addressed(with("{}", {}, "line\n"), broker_rules());
  ASSERT_FALSE(control);
  EXPECT_NE(control.error().message.find("\"line\\x0a\""), std::string::npos)
      << control.error().message;
}

TEST(Addressed, WhatItsConsumerWouldRefuseIsNotSent) {
  const auto twice = with("{}", {{"idempotency-key", "a"}, {"idempotency-key", "b"}});
  EXPECT_EQ(addressed(twice, broker_rules()).error().reason, "key.invalid");
  EXPECT_FALSE(addressed(with("{}", {}, ""), broker_rules()));
  const auto large = addressed(with(Bytes(17 << 20, 'x')), broker_rules());
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kLimit);
  EXPECT_EQ(large.error().reason, "too_large");
}

TEST(Addressed, AKeyThatWouldNotArriveAsItIsIsRefused) {
  for (const char* key : {"\"quoted\"", " blank", "blank ", "line\n"}) {
    EXPECT_FALSE(addressed(with("{}", {}, key), broker_rules())) << key;
  }
  EXPECT_FALSE(header_key_flaw("plain key"));
  EXPECT_FALSE(message_id_flaw("plain \"key\" "));
  EXPECT_TRUE(message_id_flaw(Bytes(256, 'k')));
  EXPECT_TRUE(message_id_flaw("sha256:1"));
  EXPECT_TRUE(message_id_flaw("line\n"));
  EXPECT_FALSE(nats_id_flaw("plain \"key\""));
  for (const char* key : {" blank", "blank ", "line\n", "sha256:1"}) {
    EXPECT_TRUE(nats_id_flaw(key)) << key;
  }
}

TEST(Addressed, ADelayIsForQueues) {
  OutgoingMessage later = with("{}");
  later.delay = std::chrono::seconds(1);
  EXPECT_FALSE(addressed(later, broker_rules()));
  EXPECT_TRUE(addressed(later, queue_rules("auto")));
}

TEST(Addressed, ForAQueueItIsWhatTheConsumersRecipeFinds) {
  const KeyRules rules = queue_rules("json:/id");
  EXPECT_EQ(key_of(with(R"({"id":"o-1"})"), rules), "o-1");
  EXPECT_EQ(key_of(with(R"({"id":"o-1"})", {}, "given"), rules), "given") << "a given one is first";
  EXPECT_EQ(key_of(with("{}"), rules).size(), 36U) << "it has none: a new one";
  EXPECT_FALSE(addressed(with("no JSON"), rules));
  EXPECT_FALSE(addressed(with("{}"), queue_rules("function")));
  EXPECT_EQ(key_of(with("{}", {}, "given"), queue_rules("function")), "given");
}

TEST(Addressed, AMessageIdThatItBringsIsItsKey) {
  KeyRules rules = broker_rules();
  rules.id_header = "amqp-message-id";
  rules.flaw = &message_id_flaw;
  EXPECT_EQ(key_of(with("{}", {{"amqp-message-id", "m-1"}}), rules), "m-1");
}

}  // namespace
}  // namespace semel::producer
