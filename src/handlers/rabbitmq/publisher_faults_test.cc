// The RabbitMQ handler while its broker stops and restarts, or accepts nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "handlers/rabbitmq/make_rabbitmq_publisher.h"
#include "tests/support/publish_calls.h"
#include "tests/support/rabbitmq_server.h"

namespace semel::rabbitmq {
namespace {

using test::keyed_message;
using test::publish;
using test::publish_surely;
using test::publish_through_kills;
using test::PublishCall;
using test::RabbitmqServer;
using Kind = Verdict::Kind;

AsyncHandler publisher_of(const RabbitmqServer& server, const std::string& queue,
                          std::chrono::milliseconds timeout) {
  core::RabbitmqPublishSpec spec;
  spec.address = core::read_amqp_url(server.url()).value();
  spec.route.routing_key = queue;
  spec.timeout = timeout;
  auto made = make_rabbitmq_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

TEST(RabbitmqPublishFaults, ABrokerThatIsKilledLosesNothingAndWhatRepeatsHasItsId) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  auto handler = publisher_of(server, queue, std::chrono::seconds(30));
  test::ToldGate gate;
  const std::size_t sent = publish_through_kills(handler, gate, server, 3'000);
  std::map<std::string, int> times;
  for (const auto& post : server.take_all(queue)) ++times[post.message_id];
  EXPECT_EQ(times.size(), sent);
}

TEST(RabbitmqPublishFaults, WithoutABrokerACallEndsSoon) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  server.kill();
  auto handler = publisher_of(server, queue, std::chrono::seconds(60));
  test::ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.rabbitmq.connect");
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.start();
  publish_surely(handler, gate, {"k"});
}

TEST(RabbitmqPublishFaults, ABrokerThatIsShortOfMemoryIsWaitedFor) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  auto handler = publisher_of(server, queue, std::chrono::seconds(50));
  test::ToldGate gate;
  EXPECT_EQ(publish(handler, gate, keyed_message("k-0"))->verdict().kind(), Kind::kDone);
  server.limit_memory(1);
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 1; i <= 100; ++i) {
    calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", i))));
  }
  auto stopped = publish(handler, gate, keyed_message("stopped"));
  const auto by = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gate.shuts().empty() && std::chrono::steady_clock::now() < by) std::this_thread::yield();
  ASSERT_EQ(gate.shuts().size(), 1U);
  EXPECT_NE(gate.shuts()[0].find("memory"), std::string::npos) << gate.shuts()[0];
  stopped->stop.request_stop();
  const Verdict verdict = stopped->verdict();
  EXPECT_EQ(verdict.code(), "handler.rabbitmq.blocked") << verdict.reason();
  server.limit_memory(1'000'000'000);
  for (auto& call : calls) EXPECT_EQ(call->verdict().kind(), Kind::kDone);
  EXPECT_EQ(gate.shuts().size(), 1U);
}

TEST(RabbitmqPublishFaults, OneThatIsTooLargeIsDeadAndTheOthersComeAgain) {
  RabbitmqServer server({.terms = {"{max_message_size, 10000}"}, .certificate = {}, .key = {}});
  const std::string queue = server.new_queue("classic");
  auto handler = publisher_of(server, queue, std::chrono::seconds(30));
  test::ToldGate gate;
  std::vector<std::unique_ptr<PublishCall>> calls;
  std::vector<std::string> others;
  for (int i = 0; i < 20; ++i) {
    const std::string payload(i == 10 ? 20'000 : 100, 'x');
    calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", i), payload)));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.kind() == Kind::kDead, i == 10) << i << ": " << verdict.reason();
    if (i != 10) others.push_back(fmt::format("k-{}", i));
  }
  publish_surely(handler, gate, others);
  EXPECT_TRUE(gate.shuts().empty());
}

TEST(RabbitmqPublishFaults, WhatHasNoConfirmAtTheEndIsDropped) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  test::ToldGate gate;
  auto handler = publisher_of(server, queue, std::chrono::seconds(60));
  EXPECT_EQ(publish(handler, gate, keyed_message("k-0"))->verdict().kind(), Kind::kDone);
  server.limit_memory(1);
  auto first = publish(handler, gate, keyed_message("k-1"));
  const auto by = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gate.shuts().empty() && std::chrono::steady_clock::now() < by) std::this_thread::yield();
  auto call = publish(handler, gate, keyed_message("k-2"));
  handler = nullptr;
  EXPECT_FALSE(call->answer());
}

}  // namespace
}  // namespace semel::rabbitmq
