#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include <semel/trace.h>

#include "core/kafka_publish_spec.h"
#include "core/nats_publish_spec.h"
#include "core/rabbitmq_publish_spec.h"
#include "core/redis_streams_publish_spec.h"

namespace semel::core {
namespace {

Message published(Headers headers, std::string_view key = "k-1", std::string content_type = {}) {
  Message::Parts parts;
  parts.key.text = key;
  parts.headers = std::move(headers);
  parts.content_type = std::move(content_type);
  return Message(std::move(parts));
}

TEST(KafkaPublishSpec, WhatWouldBreakThePromiseIsRefused) {
  const std::pair<const char*, const char*> bad[] = {
      {"enable.idempotence", "false"},
      {"acks", "1"},
      {"request.required.acks", "0"},
      {"max.in.flight", "6"},
      {"max.in.flight.requests.per.connection", "many"},
      {"retries", "0"},
      {"message.send.max.retries", "0"},
      {"queuing.strategy", "lifo"},
      {"partitioner", "random"},
      {"delivery.report.only.error", "true"},
      {"enable.gapless.guarantee", "true"},
      {"transactional.id", "x"},
      {"message.timeout.ms", "5"},
      {"delivery.timeout.ms", "5"},
      {"bootstrap.servers", "x:1"},
      {"test.mock.num.brokers", "1"}};
  for (const auto& [name, value] : bad) {
    const auto flaw = kafka_producer_property_flaw(name, value);
    ASSERT_TRUE(flaw) << name;
    EXPECT_FALSE(flaw->why.empty());
    EXPECT_FALSE(flaw->help.empty());
  }
}

TEST(KafkaPublishSpec, WhatSaysTheSameAndEverythingElsePasses) {
  const std::pair<const char*, const char*> good[] = {
      {"enable.idempotence", "true"}, {"acks", "all"},     {"acks", "-1"},
      {"max.in.flight", "5"},         {"retries", "10"},   {"partitioner", "murmur2"},
      {"queuing.strategy", "fifo"},   {"linger.ms", "20"}, {"compression.type", "zstd"},
      {"sasl.password", "x"}};
  for (const auto& [name, value] : good) {
    EXPECT_FALSE(kafka_producer_property_flaw(name, value)) << name;
  }
}

TEST(KafkaPublishSpec, ARecordHasTheMessagesHeadersAndItsKey) {
  const auto headers = kafka_headers_of(published({{"a", "1"}, {"a", "2"}}, "k-1", "text/plain"));
  ASSERT_EQ(headers.size(), 4U);
  EXPECT_EQ(headers[1].value, "2");
  EXPECT_EQ(find_header(headers, "content-type"), "text/plain");
  EXPECT_EQ(find_header(headers, "idempotency-key"), "k-1");
}

TEST(KafkaPublishSpec, AKeyThatTheMessageCarriesStays) {
  const auto headers = kafka_headers_of(
      published({{"idempotency-key", "\"other\""}, {"Content-Type", "x/y"}}, "k-1", "text/plain"));
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].value, "\"other\"");
}

TEST(KafkaPublishSpec, TheRecordsKeyIsTheOrderingKey) {
  EXPECT_EQ(kafka_key_of(published({})), "k-1");
  Message::Parts parts;
  parts.key.text = "k-1";
  parts.ordering_key = "customer-7";
  EXPECT_EQ(kafka_key_of(Message(std::move(parts))), "customer-7");
}

TEST(RabbitmqPublishSpec, TheIdIsTheOneItCameWithElseItsKey) {
  EXPECT_EQ(rabbitmq_message_id_of(published({})), "k-1");
  EXPECT_EQ(rabbitmq_message_id_of(published({{"amqp-message-id", "m-7"}})), "m-7");
}

TEST(RabbitmqPublishSpec, AKeyThatIsNoShortStringIsNamedByItsDigest) {
  const std::string odd[] = {std::string(256, 'x'), "\xff\xfe", std::string("a\0b", 3),
                             "sha256:of-another"};
  std::set<std::string> ids;
  for (const std::string& key : odd) {
    const auto id = rabbitmq_message_id_of(published({}, key));
    EXPECT_TRUE(id.starts_with("sha256:")) << id;
    EXPECT_EQ(id.size(), 7U + 64U);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), std::size(odd));
  EXPECT_EQ(rabbitmq_message_id_of(published({}, std::string(255, 'x'))), std::string(255, 'x'));
}

TEST(RabbitmqPublishSpec, HeadersThatABrokerActsUponStayBehind) {
  const auto headers = rabbitmq_headers_of(published({{"CC", "elsewhere"},
                                                      {"BCC", "elsewhere"},
                                                      {"x-death", "[]"},
                                                      {"x-first-death-queue", "q"},
                                                      {"x-delivery-count", "3"},
                                                      {"cc", "a header like any"},
                                                      {"trace", "7"}}));
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].name, "cc");
  EXPECT_EQ(headers[1].name, "trace");
}

TEST(RabbitmqPublishSpec, ExchangesAndRoutingKeysAreShortStrings) {
  EXPECT_FALSE(rabbitmq_exchange_flaw("events"));
  EXPECT_FALSE(rabbitmq_exchange_flaw(""));
  EXPECT_FALSE(rabbitmq_routing_key_flaw("orders.paid.#"));
  EXPECT_TRUE(rabbitmq_exchange_flaw(std::string(256, 'x')));
  EXPECT_TRUE(rabbitmq_exchange_flaw("a\nb"));
  EXPECT_TRUE(rabbitmq_routing_key_flaw("\xff"));
}

TEST(PublishSpec, ATracedMessageIsPublishedWithItsSpanAsTheParent) {
  auto span = std::make_shared<DeliverySpan>();
  span->context.trace_id.fill(0xAB);
  span->context.span_id.fill(0xCD);
  Message::Parts parts;
  parts.headers = {{"traceparent", "00-another"}, {"CC", "elsewhere"}};
  parts.span = std::move(span);
  const Message message(std::move(parts));
  const std::string expected = "00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01";
  EXPECT_EQ(find_header(kafka_headers_of(message), "traceparent"), expected);
  const Headers rabbitmq = rabbitmq_headers_of(message);
  EXPECT_EQ(find_header(rabbitmq, "traceparent"), expected);
  EXPECT_EQ(rabbitmq.size(), 1U);
}

TEST(RedisStreamsPublishSpec, AHeaderUnderThePayloadsNameIsAFlaw) {
  EXPECT_FALSE(redis_entry_flaw({{"a", "1"}, {"a", "2"}}, "payload"));
  const auto flaw = redis_entry_flaw({{"a", "1"}, {"payload", "2"}}, "payload");
  ASSERT_TRUE(flaw);
  EXPECT_NE(flaw->find("handler.redis_streams.payload"), std::string::npos) << *flaw;
}

TEST(NatsPublishSpec, TheKeyIsItselfOrItsDigest) {
  EXPECT_EQ(nats_key_of(published({}, "k-1")), "k-1");
  EXPECT_EQ(nats_key_of(published({}, "k 1")), "k 1");
  std::set<std::string> ids;
  for (const std::string& key :
       {std::string(" k"), std::string("k "), std::string("k\n"), std::string("\xff"),
        std::string(256, 'k'), std::string("sha256:k")}) {
    const std::string id = nats_key_of(published({}, key));
    EXPECT_TRUE(id.starts_with("sha256:")) << key;
    EXPECT_EQ(id.size(), 71U);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 6U);
}

TEST(NatsPublishSpec, AnIdNamesDestinationKeyAndPayload) {
  const auto with = [](std::string_view key, std::string_view payload) {
    Message::Parts parts;
    parts.key.text = key;
    parts.payload = payload;
    return Message(std::move(parts));
  };
  EXPECT_EQ(nats_message_id_of(with("k-1", ""), "orders.paid"),
            "orders.paid k-1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(nats_message_id_of(with("k-1", "{}"), "orders.paid"),
            nats_message_id_of(with("k-1", "{}"), "orders.paid"));
  std::set<std::string> ids;
  for (const char* subject : {"orders", "orders.paid"}) {
    for (const char* key : {"k-1", "paid", "paid k-1"}) {
      for (const char* payload : {"", "k-1", "{}"}) {
        ids.insert(nats_message_id_of(with(key, payload), subject));
      }
    }
  }
  EXPECT_EQ(ids.size(), 18U);
}

TEST(NatsPublishSpec, WhatAServerActsUponStaysBehind) {
  const auto headers = nats_headers_of(published({{"trace", "7"},
                                                  {"Nats-Msg-Id", "other"},
                                                  {"nats-rollup", "all"},
                                                  {"Nats-Expected-Last-Sequence", "3"},
                                                  {"nats-subject", "orders"},
                                                  {"idempotency-key", "of who sent it"}},
                                                 "k-1", "text/plain"));
  ASSERT_EQ(headers.size(), 3U);
  EXPECT_EQ(find_header(headers, "trace"), "7");
  EXPECT_EQ(find_header(headers, "Idempotency-Key"), "k-1");
  EXPECT_EQ(find_header(headers, "Content-Type"), "text/plain");
}

TEST(NatsPublishSpec, AHeaderThatWouldBecomeAnotherIsAFlaw) {
  EXPECT_FALSE(nats_headers_flaw({{"a", "1"}, {"b", ""}}));
  for (const Header& header : Headers{{"", "1"},
                                      {"a b", "1"},
                                      {"a:b", "1"},
                                      {"a\r", "1"},
                                      {"a", "1\r\nNats-Msg-Id: x"},
                                      {"a", "1\n2"}}) {
    EXPECT_TRUE(nats_headers_flaw({header})) << header.name << "=" << header.value;
  }
  EXPECT_TRUE(nats_headers_flaw({{"a", std::string("1\0", 2)}}));
}

TEST(NatsPublishSpec, ASubjectIsOne) {
  EXPECT_FALSE(nats_publish_subject_flaw("orders.paid"));
  for (const char* subject : {"", "orders..paid", "orders.*", "orders.>", "or ders", "$JS.API.x"}) {
    EXPECT_TRUE(nats_publish_subject_flaw(subject)) << subject;
  }
  EXPECT_TRUE(nats_publish_subject_flaw(std::string(3'000, 's')));
}

TEST(NatsPublishSpec, APatternTakesItsSubjects) {
  for (const char* pattern : {"orders.paid", "orders.*", "*.paid", "orders.>", ">", "*.*"}) {
    EXPECT_TRUE(nats_subject_takes(pattern, "orders.paid")) << pattern;
  }
  for (const char* pattern : {"orders", "orders.paid.>", "orders.paid.*", "*", "paid.*"}) {
    EXPECT_FALSE(nats_subject_takes(pattern, "orders.paid")) << pattern;
  }
}

}  // namespace
}  // namespace semel::core
