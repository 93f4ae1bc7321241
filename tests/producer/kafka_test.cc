// A producer and a Kafka broker, and what goes wrong between them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include <semel/producer.h>

#include "tests/producer/consumption.h"
#include "tests/support/kafka_records.h"
#include "tests/support/server_address.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

OutgoingMessage an_order(int number) {
  OutgoingMessage order;
  order.payload = fmt::format(R"({{"order":{}}})", number);
  return order;
}

std::string kafka_source(const std::string& brokers, const std::string& topic) {
  return fmt::format(
      R"({{ kafka: {{ brokers: "{}", group: g-{}, topics: [{}], properties: {{ heartbeat.interval.ms: 300 }} }} }})",
      brokers, topic, topic);
}

TEST(ProducerOnKafka, WhatIsConfirmedStandsInTheTopicUnderItsKey) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  Producer producer(KafkaTopic{.brokers = server.brokers(), .topic = topic});
  const SendResult sent = producer.send(an_order(1));
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->answer, topic + "-0-0");
  const auto records = records_of(server, topic);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].value, R"({"order":1})");
  EXPECT_EQ(header_of(records[0], "Idempotency-Key"), sent->key);
  EXPECT_EQ(records[0].key, sent->key);

  OutgoingMessage named = an_order(2);
  named.key = "o-2";
  ASSERT_TRUE(producer.send(named));
  ASSERT_TRUE(producer.send(named)) << "the same message again";
  const Consumption seen = consume(kafka_source(server.brokers(), topic));
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{sent->key, 1}, {"o-2", 1}}))
      << seen.complaints;
  EXPECT_EQ(seen.duplicates, 1);
}

TEST(ProducerOnKafka, ABatchIsConfirmedInItsOrderAndByItsOwnRecordKeys) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic(3);
  Producer producer(KafkaTopic{.brokers = server.brokers(),
                               .topic = topic,
                               .properties = {},
                               .record_key = [](const Message& message) {
                                 return Bytes(message.header("customer").value_or(""));
                               }});
  std::vector<OutgoingMessage> orders;
  for (int i = 0; i < 500; ++i) {
    orders.push_back(an_order(i));
    orders.back().headers = {{"customer", fmt::format("c-{}", i % 5)}};
  }
  const auto results = producer.send(orders);
  std::map<std::string, std::string> payloads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    payloads[results[i]->key] = orders[i].payload;
  }
  EXPECT_EQ(payloads.size(), orders.size());
  const auto records = records_of(server, topic, 3);
  EXPECT_EQ(records.size(), orders.size());
  std::map<std::string, int> partition_of;
  for (const auto& record : records) {
    EXPECT_EQ(payloads[header_of(record, "Idempotency-Key")], record.value);
    const auto [known, is_new] = partition_of.try_emplace(*record.key, record.partition);
    EXPECT_EQ(known->second, record.partition);
  }
  EXPECT_EQ(partition_of.size(), 5U);
}

TEST(ProducerOnKafka, ATopicThatIsNotThereIsAFinalErrorSoon) {
  Producer producer(
      KafkaTopic{.brokers = KafkaServer::shared().brokers(), .topic = "nobody-makes-it"},
      {.time_limit = seconds(60)});
  const SendResult sent = producer.send(an_order(1));
  ASSERT_FALSE(sent);
  // At the end of its time it would be unavailable, or in doubt.
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected) << sent.error().message;
  EXPECT_EQ(sent.error().reason, "handler.kafka.topic");
  EXPECT_EQ(sent.error().key.size(), 36U);
}

TEST(ProducerOnKafka, OneThatIsTooLargeIsALimitAndTakesNoNeighbourWithIt) {
  const KafkaServer& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  Producer producer(KafkaTopic{.brokers = server.brokers(), .topic = topic});
  std::vector<OutgoingMessage> orders = {an_order(1), an_order(2), an_order(3)};
  orders[1].payload.assign(3 << 20, 'x');
  const auto results = producer.send(orders);
  EXPECT_TRUE(results[0]);
  EXPECT_TRUE(results[2]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().kind, ErrorKind::kLimit);
}

TEST(ProducerOnKafka, WithoutABrokerItDidNotArriveAndWithOneAgainItDoes) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  Producer producer(KafkaTopic{.brokers = server.brokers(), .topic = topic},
                    {.time_limit = seconds(4)});
  server.kill();
  OutgoingMessage order = an_order(1);
  const SendResult missed = producer.send(order);
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().kind, ErrorKind::kUnavailable) << missed.error().message;
  EXPECT_EQ(missed.error().code, "R331");
  server.start();
  order.key = missed.error().key;
  Producer patient(KafkaTopic{.brokers = server.brokers(), .topic = topic},
                   {.time_limit = seconds(60)});
  const SendResult sent = patient.send(order);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->key, *order.key);
}

TEST(ProducerOnKafka, ABrokerThatIsKilledInMidSendAndComesBackConfirmsAll) {
  KafkaServer server;
  const std::string topic = server.new_topic();
  Producer producer(KafkaTopic{.brokers = server.brokers(), .topic = topic},
                    {.time_limit = seconds(120)});
  ASSERT_TRUE(producer.send(an_order(-1)));
  std::vector<OutgoingMessage> orders;
  for (int i = 0; i < 2'000; ++i) orders.push_back(an_order(i));
  server.kill();
  std::vector<SendResult> results;
  std::thread sends([&] { results = producer.send(orders); });
  server.start();
  sends.join();
  for (const SendResult& sent : results) EXPECT_TRUE(sent) << sent.error().message;
  const Consumption seen = consume(kafka_source(server.brokers(), topic));
  EXPECT_EQ(seen.effects.size(), orders.size() + 1);
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
}

// The broker has it, and nobody hears of it until the time is over.
TEST(ProducerOnKafka, WhatIsInDoubtIsSentAgainUnderItsKeyAndHasItsEffectOnce) {
  const int port = free_port();
  TcpProxy proxy(port);
  KafkaServer server({.listener = KafkaServer::Listener{port, proxy.port()}});
  const std::string topic = server.new_topic();
  const KafkaTopic to{.brokers = server.listener_brokers(), .topic = topic};
  OutgoingMessage order = an_order(77);
  ASSERT_TRUE(Producer(to, {.time_limit = seconds(60)}).send(an_order(1)));
  const auto withheld = proxy.inject({.text = order.payload, .then = TcpProxy::Then::kWithhold});
  proxy.inject({.text = order.payload, .then = TcpProxy::Then::kLose, .times = 1'000});
  // A busy machine may not have sent it by then: there is more time for the next.
  for (seconds limit(3); proxy.fired(withheld) == 0; limit *= 2) {
    ASSERT_LT(limit, seconds(60)) << "the fault did not fire";
    const SendResult doubtful = Producer(to, {.time_limit = limit}).send(order);
    ASSERT_FALSE(doubtful);
    if (proxy.fired(withheld) == 0) continue;
    EXPECT_EQ(doubtful.error().kind, ErrorKind::kInDoubt) << doubtful.error().message;
    EXPECT_EQ(doubtful.error().code, "R330");
    order.key = doubtful.error().key;
  }
  EXPECT_EQ(records_of(server, topic).size(), 2U) << "it had arrived";
  proxy.clear();
  Producer another(to, {.time_limit = seconds(60)});
  const SendResult sent = another.send(order);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->key, *order.key);
  EXPECT_EQ(records_of(server, topic).size(), 3U) << "it arrived twice";
  const Consumption seen = consume(kafka_source(server.brokers(), topic));
  EXPECT_EQ(seen.effects.size(), 2U);
  EXPECT_EQ(seen.effects.at(*order.key), 1);
  EXPECT_EQ(seen.duplicates, 1);
}

TEST(ProducerOnKafka, WhatCannotBeUsedIsSaidAtOnce) {
  const auto code_of = [](KafkaTopic to) -> std::string {
    try {
      Producer producer(std::move(to));
      return "none";
    } catch (const SemelError& error) {
      return error.error().code;
    }
  };
  EXPECT_EQ(code_of({.brokers = "b:9092", .topic = "a b"}), "R255");
  EXPECT_EQ(code_of({.brokers = "", .topic = "a"}), "R255");
  EXPECT_EQ(code_of({.brokers = "b:9092", .topic = "a", .properties = {{"acks", "1"}}}), "R308");
}

}  // namespace
}  // namespace semel::test
