#include <gtest/gtest.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

Loaded load_handler(const std::string& handler, const std::string& source = "{ queue: {} }",
                    const std::string& more = {}) {
  return load_text("store: { memory: {} }\nconsumers:\n  - name: relay\n    source: " + source +
                       "\n    key: json:/id\n" + more + "    handler:\n      " + handler + "\n",
                   "semel.yaml");
}

const ConsumerConfig& only_consumer(const Loaded& loaded) {
  return loaded.config.value().consumers.at(0);
}

std::string first_error(const Loaded& loaded) {
  return loaded.diagnostics.empty() ? "(none)" : format(loaded.diagnostics.front(), false);
}

const std::string kFile = "{ file: x.jsonl }";

TEST(PublishBuild, AKafkaHandlerIsRead) {
  const auto loaded = load_handler(
      "kafka: { brokers: \"a:9092\", topic: out, properties: { linger.ms: 5 }, honours_key: true }",
      kFile, "    timeout: 7s\n");
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const auto& spec = std::get<KafkaHandler>(only_consumer(loaded).handler).spec;
  EXPECT_EQ(spec.brokers, "a:9092");
  EXPECT_EQ(spec.topic, "out");
  EXPECT_EQ(spec.properties.at("linger.ms"), "5");
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(7));
  EXPECT_TRUE(acts_outside(only_consumer(loaded).handler));
}

TEST(PublishBuild, AKafkaHandlersSecretsAreNeverShown) {
  const auto loaded = load_handler(
      "kafka: { brokers: \"a:9092\", topic: out, properties: { sasl.username: me, sasl.password: "
      "hunter2 } }",
      kFile);
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const std::string properties = "consumers[0].handler.kafka.properties.";
  EXPECT_EQ(effective(loaded, properties + "sasl.username").substr(0, 2), "me");
  EXPECT_EQ(effective(loaded, properties + "sasl.password").substr(0, 3), "***");
}

TEST(PublishBuild, ARabbitmqHandlerGoesToAQueueOrThroughAnExchange) {
  const auto queue =
      load_handler("rabbitmq: { url: \"amqp://h/v\", queue: out, heartbeat: 5s }", kFile);
  ASSERT_TRUE(queue.config) << first_error(queue);
  const auto& to_queue = std::get<RabbitmqHandler>(only_consumer(queue).handler).spec;
  EXPECT_EQ(to_queue.route, (core::RabbitmqPublishSpec::Route{"", "out"}));
  EXPECT_EQ(to_queue.heartbeat, std::chrono::seconds(5));
  EXPECT_EQ(to_queue.address.vhost, "v");
  const auto exchange = load_handler(
      "rabbitmq: { url: \"amqp://h\", exchange: events, routing_key: orders.paid }", kFile);
  ASSERT_TRUE(exchange.config) << first_error(exchange);
  EXPECT_EQ(std::get<RabbitmqHandler>(only_consumer(exchange).handler).spec.route,
            (core::RabbitmqPublishSpec::Route{"events", "orders.paid"}));
}

TEST(PublishBuild, ARedisStreamsHandlerIsRead) {
  const auto loaded = load_handler(
      "redis_streams: { url: \"redis://h/2\", stream: out, payload: data, declare: true, "
      "max_length: "
      "5000, honours_key: true }",
      kFile, "    timeout: 7s\n");
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const auto& spec = std::get<RedisStreamsHandler>(only_consumer(loaded).handler).spec;
  EXPECT_EQ(spec.url, "redis://h/2");
  EXPECT_EQ(spec.stream, "out");
  EXPECT_EQ(spec.payload, "data");
  EXPECT_TRUE(spec.declare);
  EXPECT_EQ(spec.max_length, 5'000);
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(7));
  EXPECT_TRUE(publishes(only_consumer(loaded).handler));
  EXPECT_EQ(name_of(only_consumer(loaded).handler), "redis_streams");
  const auto usual = load_handler("redis_streams: { url: \"redis://h\", stream: out }", kFile);
  const auto& plain = std::get<RedisStreamsHandler>(only_consumer(usual).handler).spec;
  EXPECT_EQ(plain.payload, core::RedisStreamsSpec().payload) << "as the source reads it";
  EXPECT_FALSE(plain.declare);
  EXPECT_FALSE(plain.max_length);
}

TEST(PublishBuild, AnSqsHandlerIsRead) {
  const auto loaded = load_handler(
      "sqs: { queue_url: \"https://sqs.eu-west-1.amazonaws.com/1/out\", delay: 30s, "
      "credentials: { access_key_id: AKID, secret_access_key: hunter2 }, honours_key: true }",
      kFile, "    timeout: 7s\n");
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const auto& spec = std::get<SqsHandler>(only_consumer(loaded).handler).spec;
  EXPECT_EQ(spec.queue.name, "out");
  EXPECT_EQ(spec.region, "eu-west-1");
  EXPECT_EQ(spec.keys.access_key_id, "AKID");
  EXPECT_EQ(spec.delay, std::chrono::seconds(30));
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(7));
  EXPECT_TRUE(publishes(only_consumer(loaded).handler));
  EXPECT_EQ(name_of(only_consumer(loaded).handler), "sqs");
  EXPECT_EQ(
      effective(loaded, "consumers[0].handler.sqs.credentials.secret_access_key").substr(0, 3),
      "***");
  const auto fifo = load_handler(
      "sqs: { queue_url: \"http://localhost:9324/1/out.fifo\", region: local, group: all, "
      "deduplication: key }",
      kFile);
  ASSERT_TRUE(fifo.config) << first_error(fifo);
  const auto& ordered = std::get<SqsHandler>(only_consumer(fifo).handler).spec.fifo;
  EXPECT_EQ(ordered.group, "all");
  EXPECT_EQ(ordered.deduplication, core::SqsFifo::Deduplication::kKey);
}

TEST(PublishBuild, AnSnsHandlerIsRead) {
  const auto loaded = load_handler(
      "sns: { topic_arn: \"arn:aws:sns:eu-west-1:1:out.fifo\", endpoint: \"http://h:5000\", "
      "group: all, honours_key: true }",
      kFile, "    timeout: 7s\n");
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const auto& spec = std::get<SnsHandler>(only_consumer(loaded).handler).spec;
  EXPECT_EQ(spec.queue.name, "out.fifo");
  EXPECT_EQ(spec.queue.endpoint, "http://h:5000/");
  EXPECT_EQ(spec.region, "eu-west-1");
  EXPECT_EQ(spec.fifo.group, "all");
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(7));
  EXPECT_EQ(name_of(only_consumer(loaded).handler), "sns");
  EXPECT_TRUE(publishes(only_consumer(loaded).handler));
}

TEST(PublishBuild, ANatsHandlerIsRead) {
  const auto loaded = load_handler(
      "nats: { url: \"tls://h:4333,i\", subject: orders.paid, token: t, tls: { ca: ca.pem }, "
      "honours_key: true }",
      kFile, "    timeout: 7s\n");
  ASSERT_TRUE(loaded.config) << first_error(loaded);
  const auto& spec = std::get<NatsHandler>(only_consumer(loaded).handler).spec;
  EXPECT_EQ(spec.address.nodes.size(), 2U);
  EXPECT_TRUE(spec.address.tls);
  EXPECT_EQ(spec.subject, "orders.paid");
  EXPECT_EQ(spec.token, "t");
  EXPECT_TRUE(spec.tls_ca.ends_with("ca.pem")) << spec.tls_ca;
  EXPECT_TRUE(spec.honours_key);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(7));
  EXPECT_EQ(name_of(only_consumer(loaded).handler), "nats");
  EXPECT_EQ(effective(loaded, "consumers[0].handler.nats.token").substr(0, 3), "***");
}

TEST(PublishBuild, WhatCannotBeIsSaidWithItsPlaceAndFix) {
  const std::pair<const char*, const char*> wrong[] = {
      {"kafka: { brokers: \"a:1\", topic: \"a b\" }", "E014"},
      {"kafka: { brokers: \"a:1\", topic: out, properties: { acks: 1 } }", "E027"},
      {"kafka: { brokers: \"a:1\" }", "E017"},
      {"redis_streams: { url: \"http://h\", stream: out }", "E014"},
      {"redis_streams: { url: \"redis://h\", stream: \"a\\nb\" }", "E014"},
      {"redis_streams: { url: \"redis://h\", stream: out, payload: \"\" }", "E014"},
      {"redis_streams: { url: \"redis://h\", stream: out, max_length: 0 }", "E015"},
      {"redis_streams: { url: \"redis://h\" }", "E017"},
      {"nats: { url: \"http://h\", subject: out }", "E014"},
      {"nats: { url: \"nats://h\", subject: \"orders.*\" }", "E014"},
      {"nats: { url: \"nats://h\", subject: out, tls: { ca: ca.pem } }", "E038"},
      {"nats: { url: \"tls://h\", subject: out, tls: { cert: c.pem } }", "E038"},
      {"nats: { url: \"nats://h\" }", "E017"},
      {"sqs: { queue_url: \"ftp://h/1/a\", region: r }", "E014"},
      {"sqs: { queue_url: \"http://h/1/a\" }", "E038"},
      {"sqs: { queue_url: \"http://h/1/a\", region: r, group: all }", "E038"},
      {"sqs: { queue_url: \"http://h/1/a\", region: r, deduplication: key }", "E038"},
      {"sqs: { queue_url: \"http://h/1/a.fifo\", region: r, delay: 5s }", "E038"},
      {"sqs: { queue_url: \"http://h/1/a.fifo\", region: r, group: \"a b\" }", "E014"},
      {"sqs: { queue_url: \"http://h/1/a\", region: r, delay: 16m }", "E015"},
      {"sqs: { region: r }", "E017"},
      {"sns: { topic_arn: orders }", "E014"},
      {"sns: { topic_arn: \"arn:aws:sns:r:1:a\", endpoint: \"ftp://h\" }", "E014"},
      {"sns: { topic_arn: \"arn:aws:sns:r:1:a\", group: all }", "E038"},
      {"sns: {}", "E017"},
      {"rabbitmq: { url: \"http://h\", queue: out }", "E014"},
      {"rabbitmq: { url: \"amqp://h\" }", "E038"},
      {"rabbitmq: { url: \"amqp://h\", queue: out, exchange: events }", "E038"},
      {"rabbitmq: { url: \"amqp://h\", queue: out, routing_key: x }", "E038"},
      {"rabbitmq: { url: \"amqp://h\", exchange: events, tls: { ca: ca.pem } }", "E038"}};
  for (const auto& [handler, code] : wrong) {
    const auto loaded = load_handler(handler, kFile);
    ASSERT_FALSE(loaded.config) << handler;
    EXPECT_EQ(loaded.diagnostics.front().code, code) << handler << "\n" << first_error(loaded);
    EXPECT_FALSE(loaded.diagnostics.front().help.empty()) << handler;
    EXPECT_GT(loaded.diagnostics.front().where.line, 0) << handler;
  }
}

TEST(PublishBuild, NobodyPublishesToWhereItReads) {
  const auto kafka = load_handler("kafka: { brokers: \"a:1\", topic: orders }",
                                  "{ kafka: { brokers: \"a:1\", group: g, topics: [orders] } }");
  EXPECT_EQ(kafka.diagnostics.front().code, "E053") << first_error(kafka);
  const auto rabbit = load_handler("rabbitmq: { url: \"amqp://h\", queue: orders }",
                                   "{ rabbitmq: { url: \"amqp://h\", queue: orders } }");
  EXPECT_EQ(rabbit.diagnostics.front().code, "E053") << first_error(rabbit);
  const auto stream =
      load_handler("redis_streams: { url: \"redis://h\", stream: orders }",
                   "{ redis_streams: { url: \"redis://h\", stream: orders, group: g } }");
  EXPECT_EQ(stream.diagnostics.front().code, "E053") << first_error(stream);
  const std::string durable =
      "{ nats: { url: \"nats://h\", stream: orders, durable: d, declare: true, subject: orders.> } "
      "}";
  const auto subject = load_handler("nats: { url: \"nats://h\", subject: orders.paid }", durable);
  EXPECT_EQ(subject.diagnostics.front().code, "E053") << first_error(subject);
  const auto elsewhere = load_handler("nats: { url: \"nats://h\", subject: checked }", durable);
  EXPECT_TRUE(elsewhere.config) << first_error(elsewhere);
  const std::string queue = "sqs: { queue_url: \"http://h/1/orders\", region: r }";
  const auto sqs = load_handler(queue, "{ " + queue + " }");
  EXPECT_EQ(sqs.diagnostics.front().code, "E053") << first_error(sqs);
  const auto other = load_handler("kafka: { brokers: \"a:1\", topic: checked }",
                                  "{ kafka: { brokers: \"a:1\", group: g, topics: [orders] } }");
  EXPECT_TRUE(other.config) << first_error(other);
}

}  // namespace
}  // namespace semel::config
