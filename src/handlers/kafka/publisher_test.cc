// The Kafka handler and a broker.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "handlers/kafka/make_kafka_publisher.h"
#include "tests/support/kafka_records.h"
#include "tests/support/publish_calls.h"

namespace semel::kafka {
namespace {

using test::KafkaServer;
using test::keyed_message;
using test::publish;
using test::PublishCall;
using Kind = Verdict::Kind;

class KafkaPublishing : public testing::Test {
 protected:
  KafkaPublishing() {
    spec_.brokers = server().brokers();
    spec_.timeout = std::chrono::seconds(20);
  }
  static const KafkaServer& server() { return KafkaServer::shared(); }

  AsyncHandler& handler() {
    if (!handler_) {
      auto made = make_kafka_publisher(spec_);
      EXPECT_TRUE(made) << made.error().message;
      if (made) handler_ = *std::move(made);
    }
    return handler_;
  }
  Verdict call(Message message) { return publish(handler(), gate_, std::move(message))->verdict(); }

  core::KafkaPublishSpec spec_;
  test::ToldGate gate_;
  AsyncHandler handler_;
};

TEST_F(KafkaPublishing, ARecordIsTheMessageWithItsKeyAndHeaders) {
  spec_.topic = server().new_topic();
  const std::string binary("\0\xff\n", 3);
  auto parts = test::make_parts(ConsumerNumber{1}, "k-1", "{\"n\":1}");
  parts.headers = {{"trace", "7"}, {"trace", "8"}, {"binary", binary}};
  parts.content_type = "application/json";
  const Verdict verdict = call(Message(std::move(parts)));
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  EXPECT_EQ(verdict.result(), spec_.topic + "-0-0");
  const auto records = test::records_of(server(), spec_.topic);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].value, "{\"n\":1}");
  EXPECT_EQ(records[0].key, "k-1");
  EXPECT_EQ(header_of(records[0], "Idempotency-Key"), "k-1");
  EXPECT_EQ(header_of(records[0], "content-type"), "application/json");
  EXPECT_EQ(header_of(records[0], "binary"), binary);
  EXPECT_EQ(records[0].headers.size(), 5U);
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(KafkaPublishing, TopicKeyAndHeadersMayBeTheMessages) {
  const std::string one = server().new_topic();
  const std::string other = server().new_topic();
  spec_.topic_of = [](const Message& message) { return std::string(*message.header("to")); };
  spec_.key_of = [](const Message&) { return std::nullopt; };
  spec_.headers_of = [](const Message&) { return Headers{{"own", "1"}}; };
  EXPECT_EQ(call(keyed_message("a", "{}", {{"to", one}})).result(), one + "-0-0");
  EXPECT_EQ(call(keyed_message("b", "", {{"to", other}})).result(), other + "-0-0");
  const auto records = test::records_of(server(), other);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].key);
  EXPECT_EQ(records[0].headers.size(), 1U);
}

TEST_F(KafkaPublishing, WhatAFunctionThrowsIsTheAnswer) {
  spec_.topic_of = [](const Message& message) { return message.json<std::string>("/topic"); };
  const Verdict verdict = call(keyed_message("a", "{}"));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "payload.invalid");
  const Verdict no_topic = call(keyed_message("b", R"({"topic":"a b"})"));
  EXPECT_EQ(no_topic.kind(), Kind::kDead);
  EXPECT_EQ(no_topic.code(), "handler.kafka.topic");
}

TEST_F(KafkaPublishing, RecordsWithOneKeyKeepTheirOrder) {
  spec_.topic = server().new_topic(3);
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 300; ++i) {
    calls.push_back(publish(handler(), gate_,
                            keyed_message(fmt::format("m-{}", i), fmt::format("{}", i), {},
                                          fmt::format("customer-{}", i % 7))));
  }
  for (auto& call : calls) EXPECT_EQ(call->verdict().kind(), Kind::kDone);
  std::map<std::string, std::pair<int, int>> last;  // partition and number, by key
  const auto records = test::records_of(server(), spec_.topic, 3);
  EXPECT_EQ(records.size(), 300U);
  for (const auto& record : records) {
    const int number = std::stoi(record.value);
    const auto [found, is_new] = last.try_emplace(*record.key, record.partition, number);
    if (is_new) continue;
    EXPECT_EQ(found->second.first, record.partition);
    EXPECT_LT(found->second.second, number) << *record.key;
    found->second.second = number;
  }
  EXPECT_EQ(last.size(), 7U);
}

// The broker refuses a batch as a whole.
TEST_F(KafkaPublishing, OneThatIsTooLargeForTheTopicTakesNoNeighbourWithIt) {
  spec_.topic = server().new_topic(1, {{"max.message.bytes", "20000"}});
  spec_.properties = {{"linger.ms", "200"}};
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 20; ++i) {
    const std::string payload(i == 10 ? 50'000 : 1'500, 'x');
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("m-{}", i), payload)));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.kind(), i == 10 ? Kind::kDead : Kind::kDone) << i << ": " << verdict.reason();
    EXPECT_EQ(verdict.code(), i == 10 ? "handler.kafka.too_large" : "");
  }
  EXPECT_EQ(test::records_of(server(), spec_.topic).size(), 19U);
}

TEST_F(KafkaPublishing, OneThatIsTooLargeForTheProducerIsDead) {
  spec_.topic = server().new_topic();
  const Verdict verdict = call(keyed_message("k", std::string(2'000'000, 'x')));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.kafka.too_large");
  EXPECT_EQ(call(keyed_message("k-2")).kind(), Kind::kDone);
}

TEST_F(KafkaPublishing, AMissingTopicIsTheOperatorsToMake) {
  spec_.topic = "nobody-made-it";
  spec_.properties = {{"topic.metadata.propagation.max.ms", "0"}};
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.kafka.topic") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  ASSERT_EQ(gate_.shuts().size(), 1U);
  EXPECT_NE(gate_.shuts()[0].find("nobody-made-it"), std::string::npos);
}

TEST_F(KafkaPublishing, WhoMayNotWriteWaitsForTheRight) {
  spec_.topic = server().new_topic();
  spec_.brokers = server().login_brokers();
  spec_.properties = {{"security.protocol", "sasl_plaintext"},
                      {"sasl.mechanism", "PLAIN"},
                      {"sasl.username", "stranger"},
                      {"sasl.password", "right"}};
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.kafka.denied") << verdict.reason();
  EXPECT_EQ(gate_.shuts().size(), 1U);
}

TEST_F(KafkaPublishing, AWrongPasswordIsSaid) {
  spec_.topic = server().new_topic();
  spec_.brokers = server().login_brokers();
  spec_.timeout = std::chrono::seconds(6);
  spec_.properties = {{"security.protocol", "sasl_plaintext"},
                      {"sasl.mechanism", "PLAIN"},
                      {"sasl.username", "owner"},
                      {"sasl.password", "wrong-hunter2"}};
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_NE(verdict.reason().find("refuse the login"), std::string::npos) << verdict.reason();
  EXPECT_EQ(verdict.reason().find("hunter2"), std::string::npos);
  EXPECT_FALSE(verdict.unknown());
}

TEST(KafkaPublishSettings, WhatIsWrongInASpecIsNamed) {
  core::KafkaPublishSpec spec;
  spec.brokers = "127.0.0.1:1";
  spec.topic = "a b";
  EXPECT_EQ(make_kafka_publisher(spec).error().code, "R255");
  spec.topic = "orders";
  spec.properties = {{"acks", "1"}};
  EXPECT_EQ(make_kafka_publisher(spec).error().code, "R308");
  spec.properties = {{"lingr.ms", "1"}};
  const auto unknown = make_kafka_publisher(spec);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("lingr.ms"), std::string::npos);
}

}  // namespace
}  // namespace semel::kafka
