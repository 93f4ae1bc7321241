// A producer and a NATS JetStream stream, and what goes wrong between them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <semel/producer.h>

#include "tests/producer/consumption.h"
#include "tests/support/nats_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

OutgoingMessage a_click(int number) {
  OutgoingMessage click;
  click.payload = fmt::format(R"({{"click":{}}})", number);
  return click;
}

std::string nats_source(const NatsServer& server, const std::string& stream) {
  return fmt::format(R"({{ nats: {{ url: "{}", stream: {}, durable: d, declare: true }} }})",
                     server.url(), stream);
}

TEST(ProducerOnNats, WhatIsConfirmedStandsInTheStreamWithItsKey) {
  const NatsServer& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  Producer producer(NatsSubject{.url = server.url(), .subject = stream});
  std::vector<OutgoingMessage> clicks;
  for (int i = 0; i < 300; ++i) clicks.push_back(a_click(i));
  const auto results = producer.send(clicks);
  const auto posts = server.stored(stream);
  ASSERT_EQ(posts.size(), clicks.size());
  for (std::size_t i = 0; i < posts.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    const auto key = std::ranges::find(posts[i].headers, "Idempotency-Key",
                                       &std::pair<std::string, std::string>::first);
    ASSERT_NE(key, posts[i].headers.end());
    EXPECT_EQ(key->second, results[i]->key) << "in the order of the batch";
    EXPECT_EQ(posts[i].body, clicks[i].payload);
    EXPECT_EQ(results[i]->answer, fmt::format("{}-{}", stream, i + 1));
  }
}

TEST(ProducerOnNats, TwoSubjectsOfOneStreamBothGetAMessageOfOneKeyAndItIsReadUnderIt) {
  const NatsServer& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  OutgoingMessage click = a_click(1);
  click.key = "k";
  for (const char* below : {".paid", ".packed"}) {
    Producer producer(NatsSubject{.url = server.url(), .subject = stream + below});
    for (int i = 0; i < 2; ++i) {
      const SendResult sent = producer.send(click);
      ASSERT_TRUE(sent) << sent.error().message;
    }
  }
  EXPECT_EQ(server.stored_count(stream), 2);
  const Consumption seen = consume(nats_source(server, stream));
  ASSERT_EQ(seen.effects.size(), 1U) << seen.complaints;
  EXPECT_EQ(seen.effects.begin()->first, "k");
}

TEST(ProducerOnNats, ASubjectThatNoStreamTakesIsAFinalError) {
  const NatsServer& server = NatsServer::shared();
  Producer producer(NatsSubject{.url = server.url(), .subject = NatsServer::unused_name()},
                    {.time_limit = seconds(60)});
  const SendResult sent = producer.send(a_click(1));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(sent.error().reason, "handler.nats.stream") << sent.error().message;
}

TEST(ProducerOnNats, AKeyThatWouldNotArriveAsItIsIsRefused) {
  const NatsServer& server = NatsServer::shared();
  Producer producer(NatsSubject{.url = server.url(), .subject = server.new_stream()});
  OutgoingMessage click = a_click(1);
  click.key = "two\nlines";
  const SendResult sent = producer.send(click);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(sent.error().reason, "key.invalid") << sent.error().message;
}

TEST(ProducerOnNats, AnAnswerThatIsLostIsAskedForAgainAndStoredOnce) {
  const NatsServer& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  TcpProxy proxy(server.port());
  Producer producer(NatsSubject{.url = fmt::format("nats://owner:right@127.0.0.1:{}", proxy.port()),
                                .subject = stream},
                    {.time_limit = seconds(60)});
  const OutgoingMessage click = a_click(77);
  const auto lost = proxy.inject({.text = click.payload, .then = TcpProxy::Then::kWithhold});
  const SendResult sent = producer.send(click);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_EQ(server.stored_count(stream), 1);
}

TEST(ProducerOnNats, AServerThatIsKilledAndComesBackConfirmsAll) {
  NatsServer server;
  const std::string stream = server.new_stream();
  Producer producer(NatsSubject{.url = server.url(), .subject = stream},
                    {.time_limit = seconds(120)});
  ASSERT_TRUE(producer.send(a_click(-1)));
  std::vector<OutgoingMessage> clicks;
  for (int i = 0; i < 2'000; ++i) clicks.push_back(a_click(i));
  std::vector<SendResult> results;
  std::thread sends([&] { results = producer.send(clicks); });
  server.kill();
  server.start();
  sends.join();
  for (const SendResult& sent : results) ASSERT_TRUE(sent) << sent.error().message;
  const Consumption seen = consume(nats_source(server, stream));
  EXPECT_EQ(seen.effects.size(), clicks.size() + 1) << seen.complaints;
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
}

TEST(ProducerOnNats, AUrlThatIsNoneIsSaidWithoutItsPassword) {
  try {
    Producer producer(NatsSubject{.url = "http://u:hunter2@h", .subject = "clicks"});
    FAIL();
  } catch (const SemelError& error) {
    EXPECT_EQ(error.error().code, "R255");
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace semel::test
