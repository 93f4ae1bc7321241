// The Redis Streams handler and a server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/redis_streams/test_publishing.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/tcp_proxy.h"

namespace semel::redis_streams {
namespace {

using Kind = Verdict::Kind;

class RedisStreamsPublishing : public testing::Test {
 protected:
  RedisStreamsPublishing() {
    spec_.url = server().url();
    spec_.stream = server().new_database() + ":orders";
    spec_.timeout = std::chrono::seconds(20);
  }
  static const RedisServer& server() { return RedisServer::shared(); }
  void make_stream() const {
    server().run({"XGROUP", "CREATE", spec_.stream, "readers", "0", "MKSTREAM"});
  }
  std::string range() const { return server().run({"XRANGE", spec_.stream, "-", "+"}); }

  AsyncHandler& handler() {
    if (!handler_) handler_ = publisher_of(spec_);
    return handler_;
  }
  Verdict call(Message message) { return publish(handler(), gate_, std::move(message))->verdict(); }

  core::RedisStreamsPublishSpec spec_;
  ToldGate gate_;
  AsyncHandler handler_;
};

TEST_F(RedisStreamsPublishing, AnEntryHasPayloadHeadersAndKey) {
  make_stream();
  auto parts = test::make_parts(ConsumerNumber{1}, "k-1", "{\"n\":1}");
  parts.headers = {{"trace", "7"}, {"trace", "8"}};
  parts.content_type = "application/json";
  const Verdict verdict = call(Message(std::move(parts)));
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  const auto lines = lines_of(range());
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(verdict.result(), fmt::format("{}-{}", spec_.stream, lines[0]));
  const std::vector<std::string> fields(lines.begin() + 1, lines.end());
  EXPECT_EQ(fields, (std::vector<std::string>{"payload", "{\"n\":1}", "trace", "7", "trace", "8",
                                              "content-type", "application/json", "Idempotency-Key",
                                              "k-1"}));
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(RedisStreamsPublishing, ThousandsAreInFlightAndKeepTheirOrder) {
  make_stream();
  spec_.payload = "data";
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 3'000; ++i) {
    const std::string payload = i % 100 == 0 ? std::string(300'000, 'x') : "{}";
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i), payload)));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  std::vector<std::string> keys;
  const auto lines = lines_of(range());
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i] == "Idempotency-Key") keys.push_back(lines[i + 1]);
  }
  ASSERT_EQ(keys.size(), calls.size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i], fmt::format("k-{}", i));
}

TEST_F(RedisStreamsPublishing, AStreamThatIsNotThereShutsTheGateUntilItIsMade) {
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.redis_streams.stream");
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate_.shuts().size(), 1U);
  EXPECT_EQ(server().run({"EXISTS", spec_.stream}), "0");
  make_stream();
  EXPECT_EQ(call(keyed_message("k")).kind(), Kind::kDone);
}

TEST_F(RedisStreamsPublishing, AStreamIsMadeAndTrimmedWhereItIsAskedFor) {
  spec_.declare = true;
  spec_.max_length = 100;
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 2'000; ++i) {
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i))));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  const int left = std::stoi(server().run({"XLEN", spec_.stream}));
  EXPECT_GE(left, 100);
  EXPECT_LT(left, 1'000) << "a node of a stream has a hundred entries";
}

TEST_F(RedisStreamsPublishing, AnotherKindOfValueUnderTheNameIsNamed) {
  server().run({"SET", spec_.stream, "1"});
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.code(), "handler.redis_streams.stream");
  EXPECT_NE(verdict.reason().find("is no stream"), std::string::npos) << verdict.reason();
}

TEST_F(RedisStreamsPublishing, AHeaderNamedAsThePayloadIsDead) {
  make_stream();
  const Verdict verdict = call(keyed_message("k", "{}", {{"payload", "x"}}));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.redis_streams.invalid");
  EXPECT_EQ(server().run({"XLEN", spec_.stream}), "0");
}

TEST_F(RedisStreamsPublishing, WithoutTheRightItWaitsForIt) {
  make_stream();
  const std::string user = server().new_database();
  server().run({"ACL", "SETUSER", user, "on", ">hunter2", "~*", "+info", "+client|setname"});
  spec_.url = fmt::format("redis://{}:hunter2@127.0.0.1:{}/0", user, server().port());
  const Verdict denied = call(keyed_message("k"));
  EXPECT_EQ(denied.code(), "handler.redis_streams.denied") << denied.reason();
  EXPECT_FALSE(denied.counted());
  server().run({"ACL", "SETUSER", user, "+xadd"});
  EXPECT_EQ(call(keyed_message("k")).kind(), Kind::kDone);
  server().run({"ACL", "DELUSER", user});
}

TEST_F(RedisStreamsPublishing, AWrongPasswordIsSaidWithoutIt) {
  spec_.url = fmt::format("redis://nobody:hunter2@127.0.0.1:{}/0", server().port());
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.redis_streams.connect");
  EXPECT_EQ(verdict.reason().find("hunter2"), std::string::npos) << verdict.reason();
  EXPECT_NE(verdict.reason().find("handler.redis_streams.url"), std::string::npos)
      << verdict.reason();
  EXPECT_FALSE(verdict.unknown());
}

TEST_F(RedisStreamsPublishing, AServerThatAnswersNothingIsLeftAndReachedAnew) {
  make_stream();
  test::TcpProxy proxy(server().port());
  spec_.url = fmt::format("redis://127.0.0.1:{}/0", proxy.port());
  spec_.timeout = std::chrono::seconds(2);
  const auto stall = proxy.inject({.text = "first of all", .then = test::TcpProxy::Then::kStall});
  const Verdict verdict = call(keyed_message("k", "first of all"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_TRUE(verdict.unknown()) << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(proxy.fired(stall), 1U);
  EXPECT_FALSE(gate_.shuts().empty());
  publish_surely(handler(), gate_, {"k-2"});
}

TEST_F(RedisStreamsPublishing, AnAnswerThatIsLostLeavesTheOutcomeUnknown) {
  make_stream();
  test::TcpProxy proxy(server().port());
  spec_.url = fmt::format("redis://127.0.0.1:{}/0", proxy.port());
  const auto lost = proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold});
  const Verdict verdict = call(keyed_message("k", "only one"));
  EXPECT_EQ(verdict.code(), "handler.redis_streams.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  EXPECT_EQ(proxy.fired(lost), 1U);
  publish_surely(handler(), gate_, {"k"});
  EXPECT_EQ(keys_in(range()), (std::map<std::string, int>{{"k", 2}})) << "twice, under one key";
}

TEST_F(RedisStreamsPublishing, AConnectionThatEndedWhileItWasIdleCostsNothing) {
  make_stream();
  test::TcpProxy proxy(server().port());
  spec_.url = fmt::format("redis://127.0.0.1:{}/0", proxy.port());
  EXPECT_EQ(call(keyed_message("k-1")).kind(), Kind::kDone);
  proxy.cut_all();
  publish_surely(handler(), gate_, {"k-2"});
  EXPECT_EQ(keys_in(range()).size(), 2U);
}

TEST_F(RedisStreamsPublishing, AStoppedCallIsAnsweredAtOnce) {
  make_stream();
  test::TcpProxy proxy(server().port());
  spec_.url = fmt::format("redis://127.0.0.1:{}/0", proxy.port());
  const auto stall = proxy.inject({.text = "stop me", .then = test::TcpProxy::Then::kStall});
  auto stopped = publish(handler(), gate_, keyed_message("k", "stop me"));
  ASSERT_TRUE(proxy.wait_fired(stall));
  stopped->stop.request_stop();
  const Verdict verdict = stopped->verdict();
  EXPECT_EQ(verdict.code(), "handler.redis_streams.timeout");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_TRUE(gate_.shuts().empty()) << "a stop says nothing of the server";
}

TEST(RedisStreamsPublishCluster, TheNodeThatHasTheStreamIsFoundAndFollowed) {
  test::RedisCluster cluster(test::RedisCluster::kCalmTimeoutMs);
  core::RedisStreamsPublishSpec spec;
  spec.url = cluster.url();
  spec.stream = "orders";
  spec.declare = true;
  ToldGate gate;
  auto handler = publisher_of(spec);
  publish_surely(handler, gate, {"k-1", "k-2"});
  const int from = cluster.master_of("orders");
  int to = from;
  for (const int port : cluster.masters()) {
    if (port != from) to = port;
  }
  cluster.begin_move("orders", to);
  cluster.move_names("orders", to);
  // The old node has the slot without the stream: it answers TRYAGAIN until the move ends.
  auto waits = publish(handler, gate, keyed_message("k-3"));
  cluster.end_move("orders", to);
  EXPECT_EQ(waits->verdict().kind(), Kind::kDone);
  publish_surely(handler, gate, {"k-4"});
  EXPECT_EQ(cluster.run_for("orders", {"XLEN", "orders"}), "4");
}

TEST(RedisStreamsPublishSettings, WhatIsWrongInASpecIsNamed) {
  core::RedisStreamsPublishSpec spec;
  spec.url = "redis://127.0.0.1:1";
  EXPECT_EQ(make_redis_streams_publisher(spec).error().code, "R255");
  spec.stream = "orders";
  spec.max_length = 0;
  EXPECT_EQ(make_redis_streams_publisher(spec).error().code, "R255");
  spec.max_length.reset();
  spec.payload = "";
  EXPECT_EQ(make_redis_streams_publisher(spec).error().code, "R255");
  spec.payload = "data";
  spec.url = "http://host";
  EXPECT_EQ(make_redis_streams_publisher(spec).error().code, "R259");
}

}  // namespace
}  // namespace semel::redis_streams
