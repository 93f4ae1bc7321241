// A producer and a Redis stream, and what goes wrong between them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <semel/producer.h>

#include "tests/producer/consumption.h"
#include "tests/support/redis_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

OutgoingMessage a_stream_order(int number) {
  OutgoingMessage order;
  order.payload = fmt::format(R"({{"order":{}}})", number);
  return order;
}

std::string new_stream_at(const RedisServer& server) {
  const std::string stream = server.new_database() + ":orders";
  server.run({"XGROUP", "CREATE", stream, "readers", "0", "MKSTREAM"});
  return stream;
}

std::string redis_source(const RedisServer& server, const std::string& stream) {
  return fmt::format(R"({{ redis_streams: {{ url: "{}", stream: "{}", group: readers }} }})",
                     server.url(), stream);
}

TEST(ProducerOnRedisStreams, WhatIsConfirmedStandsInTheStreamWithItsKey) {
  const RedisServer& server = RedisServer::shared();
  const std::string stream = new_stream_at(server);
  Producer producer(RedisStreamTarget{.url = server.url(), .stream = stream});
  std::vector<OutgoingMessage> orders;
  for (int i = 0; i < 300; ++i) orders.push_back(a_stream_order(i));
  const auto results = producer.send(orders);
  for (const SendResult& sent : results) {
    ASSERT_TRUE(sent) << sent.error().message;
    EXPECT_TRUE(sent->answer.starts_with(stream + "-")) << sent->answer;
  }
  const Consumption seen = consume(redis_source(server, stream));
  EXPECT_EQ(seen.effects.size(), 300U) << seen.complaints;
  for (const SendResult& sent : results) EXPECT_EQ(seen.effects.count(sent->key), 1U);
}

TEST(ProducerOnRedisStreams, AStreamThatIsNotThereIsAFinalError) {
  const RedisServer& server = RedisServer::shared();
  Producer producer(
      RedisStreamTarget{.url = server.url(), .stream = server.new_database() + ":none"},
      {.time_limit = seconds(60)});
  const SendResult sent = producer.send(a_stream_order(1));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(sent.error().reason, "handler.redis_streams.stream") << sent.error().message;
}

TEST(ProducerOnRedisStreams, AnAnswerThatIsLostMakesItArriveTwiceUnderOneKeyAndTheEffectOnce) {
  const RedisServer& server = RedisServer::shared();
  const std::string stream = new_stream_at(server);
  TcpProxy proxy(server.port());
  Producer producer(RedisStreamTarget{.url = fmt::format("redis://127.0.0.1:{}/0", proxy.port()),
                                      .stream = stream},
                    {.time_limit = seconds(60)});
  const OutgoingMessage order = a_stream_order(77);
  const auto lost = proxy.inject({.text = order.payload, .then = TcpProxy::Then::kWithhold});
  const SendResult sent = producer.send(order);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(proxy.fired(lost), 1U);
  const Consumption seen = consume(redis_source(server, stream));
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{sent->key, 1}})) << seen.complaints;
  EXPECT_EQ(seen.duplicates, 1) << "it came twice";
}

TEST(ProducerOnRedisStreams, AServerThatIsKilledAndComesBackConfirmsAll) {
  RedisServer server;
  const std::string stream = new_stream_at(server);
  Producer producer(RedisStreamTarget{.url = server.url(), .stream = stream},
                    {.time_limit = seconds(120)});
  ASSERT_TRUE(producer.send(a_stream_order(-1)));
  std::vector<OutgoingMessage> orders;
  for (int i = 0; i < 2'000; ++i) orders.push_back(a_stream_order(i));
  std::vector<SendResult> results;
  std::thread sends([&] { results = producer.send(orders); });
  server.kill();
  server.start();
  sends.join();
  for (const SendResult& sent : results) ASSERT_TRUE(sent) << sent.error().message;
  const Consumption seen = consume(redis_source(server, stream));
  EXPECT_EQ(seen.effects.size(), orders.size() + 1) << seen.complaints;
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
}

TEST(ProducerOnRedisStreams, AUrlThatIsNoneIsSaidWithoutItsPassword) {
  try {
    Producer producer(RedisStreamTarget{.url = "http://u:hunter2@h", .stream = "orders"});
    FAIL();
  } catch (const SemelError& error) {
    EXPECT_EQ(error.error().code, "R259");
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace semel::test
