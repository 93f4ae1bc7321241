// The Redis Streams handler while its server stops and restarts, or accepts nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "handlers/redis_streams/test_publishing.h"

namespace semel::redis_streams {
namespace {

using Kind = Verdict::Kind;

core::RedisStreamsPublishSpec spec_at(const RedisServer& server) {
  core::RedisStreamsPublishSpec spec;
  spec.url = server.url();
  spec.stream = "orders";
  spec.declare = true;
  spec.timeout = std::chrono::seconds(30);
  return spec;
}

TEST(RedisStreamsPublishFaults, AServerThatIsKilledLosesNothingAndWhatRepeatsHasItsKey) {
  RedisServer server;
  auto handler = publisher_of(spec_at(server));
  ToldGate gate;
  const std::size_t sent = publish_through_kills(handler, gate, server, 5'000);
  EXPECT_EQ(keys_in(server.run({"XRANGE", "orders", "-", "+"})).size(), sent);
}

TEST(RedisStreamsPublishFaults, WithoutAServerACallEndsSoon) {
  RedisServer server;
  server.kill();
  auto handler = publisher_of(spec_at(server));
  ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.redis_streams.connect");
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.start();
  publish_surely(handler, gate, {"k"});
}

TEST(RedisStreamsPublishFaults, AServerWithoutRoomIsWaitedFor) {
  RedisServer server;
  auto handler = publisher_of(spec_at(server));
  ToldGate gate;
  publish_surely(handler, gate, {"k-1"});
  server.run({"CONFIG", "SET", "maxmemory", "1"});
  const Verdict verdict = publish(handler, gate, keyed_message("k-2"))->verdict();
  EXPECT_EQ(verdict.code(), "handler.redis_streams.full") << verdict.reason();
  EXPECT_FALSE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.run({"CONFIG", "SET", "maxmemory", "0"});
  publish_surely(handler, gate, {"k-2"});
}

TEST(RedisStreamsPublishFaults, OneThatIsTooLargeIsDeadAndTheOthersComeAgain) {
  RedisServer server;
  server.run({"CONFIG", "SET", "proto-max-bulk-len", "1mb"});
  auto handler = publisher_of(spec_at(server));
  ToldGate gate;
  std::vector<std::unique_ptr<PublishCall>> calls;
  std::vector<std::string> others;
  for (int i = 0; i < 20; ++i) {
    const std::string payload(i == 10 ? 2 << 20 : 100, 'x');
    calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", i), payload)));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.kind() == Kind::kDead, i == 10) << i << ": " << verdict.reason();
    if (i == 10) {
      EXPECT_EQ(verdict.code(), "handler.redis_streams.too_large");
    }
    if (i < 10) {
      EXPECT_EQ(verdict.kind(), Kind::kDone) << i << ": " << verdict.reason();
    }
    if (verdict.kind() == Kind::kRetry) others.push_back(fmt::format("k-{}", i));
  }
  publish_surely(handler, gate, others);
  EXPECT_EQ(keys_in(server.run({"XRANGE", "orders", "-", "+"})).size(), 19U);
}

TEST(RedisStreamsPublishFaults, WhatHasNoAnswerAtTheEndIsDropped) {
  RedisServer server;
  ToldGate gate;
  auto handler = publisher_of(spec_at(server));
  publish_surely(handler, gate, {"k-1"});
  server.run({"CLIENT", "PAUSE", "60000", "WRITE"});
  auto call = publish(handler, gate, keyed_message("k-2"));
  handler = nullptr;
  EXPECT_FALSE(call->answer());
}

}  // namespace
}  // namespace semel::redis_streams
