// The record of whoever reads a queue absorbs what a killed relay publishes twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/producer/relay_test_bed.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::test {
namespace {

TEST(RabbitmqRelayKills, WhatReachesARabbitmqQueueTwiceHasItsEffectOnce) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  const std::string place =
      fmt::format("{{ rabbitmq: {{ url: \"{}\", queue: {} }} }}", server.url(), queue);
  kill_a_relay(place);
  expect_each_mail_once(consume(place));
}

}  // namespace
}  // namespace semel::test
