// A producer and a queue of SQS, and what goes wrong between them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <semel/producer.h>

#include "tests/producer/consumption.h"
#include "tests/support/elasticmq_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

OutgoingMessage an_sqs_parcel(int number) {
  OutgoingMessage parcel;
  parcel.payload = fmt::format(R"({{"parcel":{}}})", number);
  return parcel;
}

SqsQueue queue_at(const std::string& url) {
  SqsQueue made;
  made.url = url;
  made.region = "local";
  made.access_key_id = "AKID";
  made.secret_access_key = "hunter2";
  return made;
}

std::string sqs_source(const ElasticmqServer& server, const std::string& queue) {
  return fmt::format(R"({{ sqs: {{ queue_url: "{}", region: local, wait: 1s, )"
                     R"(credentials: {{ access_key_id: AKID, secret_access_key: x }} }} }})",
                     server.url(queue));
}

TEST(ProducerOnSqs, WhatIsConfirmedStandsInTheQueueWithItsKey) {
  const ElasticmqServer& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  Producer producer(queue_at(server.url(queue)));
  std::vector<OutgoingMessage> parcels;
  for (int i = 0; i < 300; ++i) parcels.push_back(an_sqs_parcel(i));
  const auto results = producer.send(parcels);
  for (const SendResult& sent : results) {
    ASSERT_TRUE(sent) << sent.error().message;
    EXPECT_FALSE(sent->answer.empty());
  }
  const Consumption seen = consume(sqs_source(server, queue));
  EXPECT_EQ(seen.effects.size(), 300U) << seen.complaints;
  for (const SendResult& sent : results) EXPECT_EQ(seen.effects.count(sent->key), 1U);
}

TEST(ProducerOnSqs, AGroupOfAFifoQueueIsTheProgramsOwn) {
  const ElasticmqServer& server = ElasticmqServer::shared();
  const std::string queue = server.new_fifo_queue();
  SqsQueue to = queue_at(server.url(queue));
  to.group_of = [](const Message&) { return std::optional<Bytes>("parcels"); };
  Producer producer(std::move(to));
  std::vector<OutgoingMessage> parcels;
  for (int i = 0; i < 50; ++i) parcels.push_back(an_sqs_parcel(i));
  for (const SendResult& sent : producer.send(parcels)) ASSERT_TRUE(sent) << sent.error().message;
  const auto posts = server.take_all(queue);
  ASSERT_EQ(posts.size(), parcels.size());
  for (std::size_t i = 0; i < posts.size(); ++i) {
    EXPECT_EQ(posts[i].group, "parcels");
    EXPECT_EQ(posts[i].body, parcels[i].payload) << "in the order of the batch";
  }
}

TEST(ProducerOnSqs, AQueueThatIsNotThereIsAFinalError) {
  const ElasticmqServer& server = ElasticmqServer::shared();
  Producer producer(queue_at(server.url(ElasticmqServer::unused_name())),
                    {.time_limit = seconds(60)});
  const SendResult sent = producer.send(an_sqs_parcel(1));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(sent.error().reason, "handler.sqs.queue") << sent.error().message;
}

TEST(ProducerOnSqs, AnAnswerThatIsLostMakesItArriveTwiceUnderOneKeyAndTheEffectOnce) {
  const ElasticmqServer& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  TcpProxy proxy(server.port());
  Producer producer(
      queue_at(fmt::format("http://127.0.0.1:{}/000000000000/{}", proxy.port(), queue)),
      {.time_limit = seconds(60)});
  const OutgoingMessage parcel = an_sqs_parcel(77);
  const auto lost = proxy.inject({.text = "parcel", .then = TcpProxy::Then::kWithhold});
  const SendResult sent = producer.send(parcel);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(proxy.fired(lost), 1U);
  const Consumption seen = consume(sqs_source(server, queue));
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{sent->key, 1}})) << seen.complaints;
  EXPECT_EQ(seen.duplicates, 1) << "it came twice";
}

TEST(ProducerOnSqs, AServerThatIsAwayAndComesBackConfirmsAll) {
  ElasticmqServer server(ElasticmqServer::Begins::kAway);
  server.begin_with("parcels");
  Producer producer(queue_at(server.url("parcels")), {.time_limit = seconds(120)});
  std::vector<OutgoingMessage> parcels;
  for (int i = 0; i < 500; ++i) parcels.push_back(an_sqs_parcel(i));
  std::vector<SendResult> results;
  std::thread sends([&] { results = producer.send(parcels); });
  server.start();
  sends.join();
  for (const SendResult& sent : results) ASSERT_TRUE(sent) << sent.error().message;
  const Consumption seen = consume(sqs_source(server, "parcels"));
  EXPECT_EQ(seen.effects.size(), parcels.size()) << seen.complaints;
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
}

TEST(ProducerOnSqs, AUrlThatIsNoneIsSaidWithoutItsPassword) {
  try {
    Producer producer(queue_at("http://u:hunter2@h/1/orders"));
    FAIL();
  } catch (const SemelError& error) {
    EXPECT_EQ(error.error().code, "R255");
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace semel::test
