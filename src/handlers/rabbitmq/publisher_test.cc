// The RabbitMQ handler and a broker.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "handlers/rabbitmq/make_rabbitmq_publisher.h"
#include "tests/support/publish_calls.h"
#include "tests/support/rabbitmq_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::rabbitmq {
namespace {

using test::keyed_message;
using test::publish;
using test::PublishCall;
using test::RabbitmqServer;
using Kind = Verdict::Kind;

class RabbitmqPublishing : public testing::Test {
 protected:
  RabbitmqPublishing() {
    at(server().url());
    spec_.timeout = std::chrono::seconds(20);
  }
  static const RabbitmqServer& server() { return RabbitmqServer::shared(); }
  void at(const std::string& url) { spec_.address = core::read_amqp_url(url).value(); }

  AsyncHandler& handler() {
    if (!handler_) {
      auto made = make_rabbitmq_publisher(spec_);
      EXPECT_TRUE(made) << made.error().message;
      if (made) handler_ = *std::move(made);
    }
    return handler_;
  }
  Verdict call(Message message) { return publish(handler(), gate_, std::move(message))->verdict(); }

  core::RabbitmqPublishSpec spec_;
  test::ToldGate gate_;
  AsyncHandler handler_;
};

TEST_F(RabbitmqPublishing, AMessageHasItsIdAndHeadersAndIsPersistent) {
  spec_.route.routing_key = server().new_queue();
  auto parts = test::make_parts(ConsumerNumber{1}, "k-1", "{\"n\":1}");
  parts.headers = {{"trace", "7"}, {"CC", "elsewhere"}};
  parts.content_type = "application/json";
  parts.type = "order.paid";
  const Verdict verdict = call(Message(std::move(parts)));
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  const auto posts = server().take_all(spec_.route.routing_key);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].body, "{\"n\":1}");
  EXPECT_EQ(posts[0].message_id, "k-1");
  EXPECT_EQ(posts[0].content_type, "application/json");
  EXPECT_EQ(posts[0].type, "order.paid");
  EXPECT_TRUE(posts[0].persistent);
  using NameAndValue = std::pair<std::string, std::string>;
  EXPECT_EQ(std::ranges::count(posts[0].headers, NameAndValue("trace", "7")), 1);
  EXPECT_EQ(std::ranges::count(posts[0].headers, NameAndValue("CC", "elsewhere")), 0);
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(RabbitmqPublishing, HundredsAreInFlightAndKeepTheirOrder) {
  spec_.route.routing_key = server().new_queue();
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i))));
  }
  for (auto& call : calls) EXPECT_EQ(call->verdict().kind(), Kind::kDone);
  const auto posts = server().take_all(spec_.route.routing_key);
  ASSERT_EQ(posts.size(), 500U);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    EXPECT_EQ(posts[i].message_id, fmt::format("k-{}", i));
  }
}

// The connection works and the calls are late, so the broker is at fault; a new connection may
// help.
TEST_F(RabbitmqPublishing, ABrokerThatConfirmsNothingIsLeftAloneAndReachedAnew) {
  test::TcpProxy proxy(server().port());
  at(fmt::format("amqp://owner:right@127.0.0.1:{}/%2F", proxy.port()));
  spec_.route.routing_key = server().new_queue();
  spec_.timeout = std::chrono::milliseconds(500);
  const auto stall = proxy.inject({.text = "first of all", .then = test::TcpProxy::Then::kStall});
  for (int i = 0; i < 3; ++i) {
    const Verdict verdict = call(keyed_message(fmt::format("k-{}", i), "first of all"));
    EXPECT_EQ(verdict.code(), "handler.rabbitmq.timeout") << verdict.reason();
    EXPECT_TRUE(verdict.unknown());
    EXPECT_FALSE(verdict.counted());
  }
  EXPECT_EQ(proxy.fired(stall), 1U);
  ASSERT_FALSE(gate_.shuts().empty());
  EXPECT_TRUE(gate_.shuts().front().starts_with("shut no confirm within")) << gate_.shuts().front();
  // A new connection is made a moment later; until then calls are late.
  Kind kind = Kind::kRetry;
  for (int i = 0; i < 100 && kind != Kind::kDone; ++i) {
    kind = call(keyed_message("k-4", "and then")).kind();
  }
  EXPECT_EQ(kind, Kind::kDone);
}

// A write that waits for its reader would block the thread that ends late calls.
TEST_F(RabbitmqPublishing, ABrokerThatReadsNoMoreHoldsNobodyPastTheTimeout) {
  test::TcpProxy proxy(server().port());
  at(fmt::format("amqp://owner:right@127.0.0.1:{}/%2F", proxy.port()));
  spec_.route.routing_key = server().new_queue();
  spec_.timeout = std::chrono::seconds(1);
  const auto stall = proxy.inject({.text = "first of all", .then = test::TcpProxy::Then::kStall});
  const std::string large = "first of all" + std::string(8 << 20, 'x');
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i), large)));
  }
  const Verdict first = calls.front()->verdict();
  EXPECT_EQ(first.kind(), Kind::kRetry);
  EXPECT_TRUE(first.unknown()) << first.reason();
  for (std::size_t i = 1; i < calls.size(); ++i) EXPECT_TRUE(calls[i]->answer()) << i;
  EXPECT_EQ(proxy.fired(stall), 1U);
}

TEST_F(RabbitmqPublishing, WhatNoQueueTakesIsToldApartFromItsNeighbours) {
  const std::string queue = server().new_queue();
  spec_.route_of = [queue](const Message& message) {
    const bool lost = message.key().text.ends_with("-7");
    return core::RabbitmqPublishSpec::Route{"", lost ? "no-such-queue" : queue};
  };
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 100; ++i) {
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i % 10))));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.kind(), i % 10 == 7 ? Kind::kRetry : Kind::kDone) << i << verdict.reason();
    if (verdict.kind() != Kind::kRetry) continue;
    EXPECT_EQ(verdict.code(), "handler.rabbitmq.unroutable");
    EXPECT_NE(verdict.reason().find("no-such-queue"), std::string::npos);
    EXPECT_FALSE(verdict.counted());
    EXPECT_FALSE(verdict.unknown());
  }
  EXPECT_EQ(server().take_all(queue).size(), 90U);
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(RabbitmqPublishing, AQueueThatIsNotThereShutsTheGate) {
  spec_.route.routing_key = RabbitmqServer::unused_name();
  EXPECT_EQ(call(keyed_message("k")).code(), "handler.rabbitmq.unroutable");
  ASSERT_EQ(gate_.shuts().size(), 1U);
  server().make_queue(spec_.route.routing_key, "quorum");
  EXPECT_EQ(call(keyed_message("k")).kind(), Kind::kDone);
  server().delete_queue(spec_.route.routing_key);
}

TEST_F(RabbitmqPublishing, AnExchangeThatIsNotThereCostsItsNeighboursNothing) {
  const std::string queue = server().new_queue();
  spec_.route_of = [queue](const Message& message) {
    return core::RabbitmqPublishSpec::Route{message.key().text == "lost" ? "no-such-exchange" : "",
                                            queue};
  };
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(
        publish(handler(), gate_, keyed_message(i % 10 == 5 ? "lost" : fmt::format("k-{}", i))));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    EXPECT_EQ(verdict.code(), i % 10 == 5 ? "handler.rabbitmq.exchange" : "") << verdict.reason();
  }
  EXPECT_EQ(server().take_all(queue).size(), 45U);
}

TEST_F(RabbitmqPublishing, AnExchangeRoutesToItsQueues) {
  spec_.route = {"amq.direct", RabbitmqServer::unused_name()};
  EXPECT_EQ(call(keyed_message("k")).code(), "handler.rabbitmq.unroutable");
  EXPECT_EQ(gate_.shuts().size(), 1U);
}

TEST_F(RabbitmqPublishing, AMessageThatNoBindingTakesShutsTheGateOnceAndThenCostsItsOwnTries) {
  const std::string queue = server().new_queue();
  spec_.route.exchange = server().new_headers_exchange(queue, "to", "here");
  const auto to = [&](const std::string& key, const std::string& where) {
    return call(keyed_message(key, "{}", {{"to", where}}));
  };
  const Verdict first = to("bad", "nowhere");
  EXPECT_EQ(first.code(), "handler.rabbitmq.unroutable") << first.reason();
  EXPECT_FALSE(first.counted()) << "all messages may be unroutable";
  EXPECT_EQ(gate_.shuts().size(), 1U);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(to(fmt::format("good-{}", i), "here").kind(), Kind::kDone);
    const Verdict verdict = to("bad", "nowhere");
    EXPECT_EQ(verdict.code(), "handler.rabbitmq.unroutable") << verdict.reason();
    EXPECT_TRUE(verdict.counted()) << i;
  }
  EXPECT_EQ(gate_.shuts().size(), 1U) << gate_.shuts().back();
  EXPECT_EQ(server().take_all(queue).size(), 8U);
}

TEST_F(RabbitmqPublishing, WhoMayNotWriteWaitsForTheRight) {
  spec_.route.routing_key = server().new_queue();
  at(server().url_of("reader:right", "%2F"));
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.rabbitmq.denied") << verdict.reason();
  EXPECT_EQ(gate_.shuts().size(), 1U);
}

TEST_F(RabbitmqPublishing, AWrongPasswordIsSaidWithoutIt) {
  spec_.route.routing_key = "q";
  at(server().url_of("owner:wrong-hunter2", "%2F"));
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.rabbitmq.connect");
  EXPECT_NE(verdict.reason().find("refuses the login"), std::string::npos) << verdict.reason();
  EXPECT_EQ(verdict.reason().find("hunter2"), std::string::npos);
  EXPECT_FALSE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
}

TEST_F(RabbitmqPublishing, HeadersThatFillAFrameAreTooLarge) {
  spec_.route.routing_key = server().new_queue();
  const Verdict verdict = call(keyed_message("k", "{}", {{"big", std::string(140'000, 'x')}}));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.rabbitmq.too_large");
  EXPECT_EQ(call(keyed_message("k-2", "{}", {{"big", std::string(120'000, 'x')}})).kind(),
            Kind::kDone);
}

TEST(RabbitmqPublishSettings, WhatIsWrongInASpecIsNamed) {
  core::RabbitmqPublishSpec spec;
  EXPECT_EQ(make_rabbitmq_publisher(spec).error().code, "R255");
  spec.address = core::read_amqp_url("amqp://127.0.0.1:1").value();
  EXPECT_EQ(make_rabbitmq_publisher(spec).error().code, "R255");
  spec.route.exchange = std::string(256, 'x');
  EXPECT_EQ(make_rabbitmq_publisher(spec).error().code, "R255");
}

}  // namespace
}  // namespace semel::rabbitmq
