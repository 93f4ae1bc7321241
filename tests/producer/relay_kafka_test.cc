// The record of whoever reads a topic absorbs what a killed relay publishes twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/producer/relay_test_bed.h"
#include "tests/support/kafka_server.h"

namespace semel::test {
namespace {

TEST(KafkaRelayKills, WhatReachesAKafkaTopicTwiceHasItsEffectOnce) {
  const auto& server = KafkaServer::shared();
  const std::string topic = server.new_topic();
  kill_a_relay(
      fmt::format("{{ kafka: {{ brokers: \"{}\", topic: {} }} }}", server.brokers(), topic));
  expect_each_mail_once(
      consume(fmt::format("{{ kafka: {{ brokers: \"{}\", group: {}-g, topics: [{}] }} }}",
                          server.brokers(), topic, topic)));
}

}  // namespace
}  // namespace semel::test
