// A producer and a RabbitMQ broker, and what goes wrong between them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <semel/producer.h>

#include "tests/producer/consumption.h"
#include "tests/support/rabbitmq_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

OutgoingMessage a_parcel(int number) {
  OutgoingMessage parcel;
  parcel.payload = fmt::format(R"({{"parcel":{}}})", number);
  return parcel;
}

std::string rabbitmq_source(const std::string& url, const std::string& queue) {
  return fmt::format(R"({{ rabbitmq: {{ url: "{}", queue: {} }} }})", url, queue);
}

RabbitmqRoute to_queue(const std::string& url, const std::string& queue) {
  return {.url = url, .exchange = {}, .routing_key = queue};
}

// The server's URL with the proxy's port in it.
std::string through(const TcpProxy& proxy, const RabbitmqServer& server) {
  std::string url = server.url();
  const std::string port = std::to_string(server.port());
  return url.replace(url.find(port), port.size(), std::to_string(proxy.port()));
}

TEST(ProducerOnRabbitmq, WhatIsConfirmedStandsInTheQueueWithItsKeyAsId) {
  const RabbitmqServer& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  Producer producer(to_queue(server.url(), queue));
  std::vector<OutgoingMessage> parcels;
  for (int i = 0; i < 300; ++i) parcels.push_back(a_parcel(i));
  const auto results = producer.send(parcels);
  const auto posts = server.take_all(queue);
  ASSERT_EQ(posts.size(), parcels.size());
  for (std::size_t i = 0; i < posts.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(posts[i].message_id, results[i]->key) << "in the order of the batch";
    EXPECT_EQ(posts[i].body, parcels[i].payload);
  }
}

TEST(ProducerOnRabbitmq, WhatNoQueueTakesIsAFinalError) {
  const RabbitmqServer& server = RabbitmqServer::shared();
  Producer no_queue(to_queue(server.url(), RabbitmqServer::unused_name()),
                    {.time_limit = seconds(60)});
  const SendResult unroutable = no_queue.send(a_parcel(1));
  ASSERT_FALSE(unroutable);
  EXPECT_EQ(unroutable.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(unroutable.error().reason, "handler.rabbitmq.unroutable") << unroutable.error().message;
  Producer no_exchange(
      {.url = server.url(), .exchange = RabbitmqServer::unused_name(), .routing_key = "x"});
  const SendResult nowhere = no_exchange.send(a_parcel(1));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(nowhere.error().reason, "handler.rabbitmq.exchange") << nowhere.error().message;
}

TEST(ProducerOnRabbitmq, AConfirmThatIsLostMakesItArriveTwiceUnderOneKeyAndTheEffectOnce) {
  const RabbitmqServer& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  TcpProxy proxy(server.port());
  Producer producer(to_queue(through(proxy, server), queue), {.time_limit = seconds(60)});
  const OutgoingMessage parcel = a_parcel(77);
  const auto lost = proxy.inject({.text = parcel.payload, .then = TcpProxy::Then::kWithhold});
  const SendResult sent = producer.send(parcel);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(proxy.fired(lost), 1U);
  const Consumption seen = consume(rabbitmq_source(server.url(), queue));
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{sent->key, 1}})) << seen.complaints;
  EXPECT_EQ(seen.duplicates, 1) << "it came twice";
}

TEST(ProducerOnRabbitmq, WithoutAConfirmInTimeItIsInDoubt) {
  const RabbitmqServer& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  TcpProxy proxy(server.port());
  ASSERT_TRUE(Producer(to_queue(through(proxy, server), queue)).send(a_parcel(1)));
  OutgoingMessage parcel = a_parcel(2);
  const auto stalled = proxy.inject({.text = parcel.payload, .then = TcpProxy::Then::kStall});
  // A busy machine may not have sent it by then: there is more time for the next.
  for (seconds limit(1); proxy.fired(stalled) == 0; limit *= 2) {
    ASSERT_LT(limit, seconds(60)) << "the fault did not fire";
    Producer hasty(to_queue(through(proxy, server), queue), {.time_limit = limit});
    const SendResult doubtful = hasty.send(parcel);
    ASSERT_FALSE(doubtful);
    if (proxy.fired(stalled) == 0) continue;
    EXPECT_EQ(doubtful.error().kind, ErrorKind::kInDoubt) << doubtful.error().message;
    parcel.key = doubtful.error().key;
  }
  proxy.clear();
  Producer again(to_queue(server.url(), queue));
  ASSERT_TRUE(again.send(parcel));
  const Consumption seen = consume(rabbitmq_source(server.url(), queue));
  EXPECT_EQ(seen.effects.size(), 2U) << seen.complaints;
  EXPECT_EQ(seen.effects.at(*parcel.key), 1);
}

TEST(ProducerOnRabbitmq, ABrokerThatIsKilledAndComesBackConfirmsAll) {
  RabbitmqServer server;
  const std::string queue = server.new_queue("classic");
  Producer producer(to_queue(server.url(), queue), {.time_limit = seconds(120)});
  ASSERT_TRUE(producer.send(a_parcel(-1)));
  std::vector<OutgoingMessage> parcels;
  for (int i = 0; i < 2'000; ++i) parcels.push_back(a_parcel(i));
  std::vector<SendResult> results;
  std::thread sends([&] { results = producer.send(parcels); });
  server.kill();
  server.start();
  sends.join();
  for (const SendResult& sent : results) ASSERT_TRUE(sent) << sent.error().message;
  const Consumption seen = consume(rabbitmq_source(server.url(), queue));
  EXPECT_EQ(seen.effects.size(), parcels.size() + 1) << seen.complaints;
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
}

TEST(ProducerOnRabbitmq, AUrlThatIsNoneIsSaidWithoutItsPassword) {
  try {
    Producer producer(
        RabbitmqRoute{.url = "http://u:hunter2@h", .exchange = {}, .routing_key = "q"});
    FAIL();
  } catch (const SemelError& error) {
    EXPECT_EQ(error.error().code, "R255");
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace semel::test
