// The Redis Streams handler while its server goes and comes, or takes nothing.
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
  std::vector<std::string> again;
  std::size_t sent = 0;
  // A kill may come too late for all of them.
  for (int tries = 0; tries < 10 && again.empty(); ++tries) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    const std::size_t first = sent;
    for (; sent < first + 5'000; ++sent) {
      calls.push_back(publish(handler, gate, keyed_message(fmt::format("k-{}", sent))));
    }
    EXPECT_EQ(calls.front()->verdict().kind(), Kind::kDone);
    server.kill();
    for (std::size_t i = 1; i < calls.size(); ++i) {
      const Verdict verdict = calls[i]->verdict();
      if (verdict.kind() == Kind::kDone) continue;
      EXPECT_EQ(verdict.kind(), Kind::kRetry) << verdict.reason();
      EXPECT_FALSE(verdict.counted());
      again.push_back(fmt::format("k-{}", first + i));
    }
    server.start();
  }
  EXPECT_FALSE(again.empty()) << "the faults came too late";
  EXPECT_FALSE(gate.shuts().empty());
  publish_all(handler, gate, again);
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
  publish_all(handler, gate, {"k"});
}

TEST(RedisStreamsPublishFaults, AServerWithoutRoomIsWaitedFor) {
  RedisServer server;
  auto handler = publisher_of(spec_at(server));
  ToldGate gate;
  publish_all(handler, gate, {"k-1"});
  server.run({"CONFIG", "SET", "maxmemory", "1"});
  const Verdict verdict = publish(handler, gate, keyed_message("k-2"))->verdict();
  EXPECT_EQ(verdict.code(), "handler.redis_streams.full") << verdict.reason();
  EXPECT_FALSE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.run({"CONFIG", "SET", "maxmemory", "0"});
  publish_all(handler, gate, {"k-2"});
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
  publish_all(handler, gate, others);
  EXPECT_EQ(keys_in(server.run({"XRANGE", "orders", "-", "+"})).size(), 19U);
}

TEST(RedisStreamsPublishFaults, WhatHasNoAnswerAtTheEndIsDropped) {
  RedisServer server;
  ToldGate gate;
  auto handler = publisher_of(spec_at(server));
  publish_all(handler, gate, {"k-1"});
  server.run({"CLIENT", "PAUSE", "60000", "WRITE"});
  auto call = publish(handler, gate, keyed_message("k-2"));
  handler = nullptr;
  EXPECT_FALSE(call->answer());
}

}  // namespace
}  // namespace semel::redis_streams
