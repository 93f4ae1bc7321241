#include "core/kafka_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(KafkaSpec, WhatWouldBreakThePromiseIsRefused) {
  for (const char* name : {"enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms",
                           "enable.auto.offset.store", "enable.partition.eof", "group.id",
                           "bootstrap.servers", "metadata.broker.list", "auto.offset.reset"}) {
    const auto flaw = kafka_property_flaw(name, "true");
    ASSERT_TRUE(flaw.has_value()) << name;
    EXPECT_FALSE(flaw->why.empty());
    EXPECT_FALSE(flaw->help.empty());
  }
  EXPECT_TRUE(kafka_property_flaw("isolation.level", "read_uncommitted").has_value());
}

TEST(KafkaSpec, EverythingElsePassesThrough) {
  EXPECT_FALSE(kafka_property_flaw("isolation.level", "read_committed").has_value());
  for (const char* name :
       {"security.protocol", "sasl.username", "session.timeout.ms", "partition.assignment.strategy",
        "group.instance.id", "ssl.ca.location"}) {
    EXPECT_FALSE(kafka_property_flaw(name, "x").has_value()) << name;
  }
}

TEST(KafkaSpec, SecretsAreKnownByTheirNames) {
  for (const char* name :
       {"sasl.password", "ssl.key.password", "ssl.keystore.password",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "ssl.key.pem"}) {
    EXPECT_TRUE(is_kafka_secret(name)) << name;
  }
  EXPECT_FALSE(is_kafka_secret("sasl.username"));
  EXPECT_FALSE(is_kafka_secret("ssl.key.location"));
}

TEST(KafkaSpec, ATopicIsAName) {
  EXPECT_TRUE(is_kafka_topic("orders.v1_new-2"));
  EXPECT_TRUE(is_kafka_topic(std::string(249, 'a')));
  for (const char* name : {"", ".", "..", "^orders.*", "a b", "ä", "a/b"}) {
    EXPECT_FALSE(is_kafka_topic(name)) << name;
  }
  EXPECT_FALSE(is_kafka_topic(std::string(250, 'a')));
}

}  // namespace
}  // namespace semel::core
