#include "cli/check_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace semel::cli {
namespace {

// The last line for one consumer with this source.
std::string window_of(const std::string& source, const std::string& more = {}) {
  const auto loaded = config::load_text(fmt::format("version: 1\n"
                                                    "consumers:\n"
                                                    "  - name: payments\n"
                                                    "    source: {{ {} }}\n"
                                                    "    key: json:/id\n"
                                                    "    handler: {{ exec: cat }}\n"
                                                    "{}",
                                                    source, more),
                                        "semel.yaml");
  if (!loaded.config) return config::format(loaded.diagnostics.front(), false);
  const auto lines = source_flow(loaded.config->consumers.front());
  return lines.empty() ? std::string() : lines.back();
}

TEST(CheckSource, SaysForHowLongTheBrokerDropsRepeatsAndForHowLongTheRecordDoes) {
  EXPECT_EQ(window_of("nats: { url: 'nats://localhost', stream: payments, durable: semel }"),
            "JetStream drops what is published again under a Nats-Msg-Id within its stream's "
            "window, 2m unless that says otherwise; the record knows a key for 7d; where the "
            "stream has a max_age, what is older than 147h and has no record is parked");
  EXPECT_EQ(
      window_of("sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/payments.fifo' }"),
      "SQS drops what is sent again under a deduplication id within 5m; the record knows a key for "
      "28d; what is older than 588h and has no record is parked");
  EXPECT_EQ(window_of("sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/payments' }",
                      "    dedup: { ttl: 16d, too_old: discard }\n"),
            "SQS drops no repeats in a standard queue; the record knows a key for 16d; what is "
            "older than 14d and has no record is discarded");
  EXPECT_EQ(window_of("sqs: { queue_url: 'https://sqs.eu-west-1.amazonaws.com/1/payments' }",
                      "    dedup: { too_old: handle }\n"),
            "SQS drops no repeats in a standard queue; the record knows a key for 28d");
  EXPECT_EQ(window_of("rabbitmq: { url: 'amqp://localhost', queue: payments }",
                      "    dedup: { ttl: keep }\n"),
            "RabbitMQ drops no repeats without its message deduplication plugin; the record knows "
            "a key for ever");
  EXPECT_EQ(window_of("redis_streams: { url: 'redis://localhost', stream: payments, group: a }",
                      "    dedup: { ttl: 30d }\n"),
            "Redis adds a repeat as another entry; the record knows a key for 30d");
  EXPECT_EQ(window_of("kafka: { brokers: localhost, group: a, topics: payments }"),
            "Kafka drops only what one producer's session repeats; the record knows a key for 28d; "
            "of topics with LogAppendTime that do not keep for ever, what is older than 588h and "
            "has no record is parked");
}

TEST(CheckSource, WithoutARecordNothingElseKnowsARepeat) {
  EXPECT_EQ(window_of("rabbitmq: { url: 'amqp://localhost', queue: payments }",
                      "    strategy: natural\n"),
            "RabbitMQ drops no repeats without its message deduplication plugin; strategy natural "
            "keeps no record of it");
}

TEST(CheckSource, SourcesWithoutABrokerHaveNoWindow) {
  EXPECT_EQ(window_of("queue: {}"), "");
  EXPECT_EQ(window_of("file: { path: payments.jsonl }"), "");
}

}  // namespace
}  // namespace semel::cli
