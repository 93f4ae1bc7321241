// The SQS handler and a server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "handlers/sqs/test_publishing.h"
#include "tests/support/http_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::sqs {
namespace {

using Kind = Verdict::Kind;
using std::chrono::seconds;

class SqsPublishing : public testing::Test {
 protected:
  static const ElasticmqServer& server() { return ElasticmqServer::shared(); }
  void to_queue(const std::string& queue) {
    queue_ = queue;
    spec_ = spec_to(server().url(queue));
  }
  void to_new_queue() { to_queue(server().new_queue()); }
  // The same queue through a proxy.
  void to_proxy(int port) {
    spec_.queue =
        core::read_sqs_url(fmt::format("http://127.0.0.1:{}/000000000000/{}", port, queue_))
            .value();
  }
  AsyncHandler& handler() {
    if (!handler_) handler_ = publisher_of(spec_);
    return handler_;
  }
  std::unique_ptr<PublishCall> begin(Message message) {
    return publish(handler(), gate_, std::move(message));
  }
  Verdict call(Message message) { return begin(std::move(message))->verdict(); }

  std::string queue_;
  core::SqsPublishSpec spec_;
  ToldGate gate_;
  AsyncHandler handler_;
};

TEST_F(SqsPublishing, AMessageHasPayloadAttributesAndKey) {
  to_new_queue();
  auto parts = test::make_parts(ConsumerNumber{1}, "k-1", "{\"n\":\"\xC3\xBC\"}");
  parts.headers = {{"trace", "7"}, {"odd name", "8"}, {"bytes", "\xff"}};
  parts.content_type = "application/json";
  const Verdict verdict = call(Message(std::move(parts)));
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  EXPECT_FALSE(verdict.result().empty());
  const auto posts = server().take_all(queue_);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].body, "{\"n\":\"\xC3\xBC\"}");
  EXPECT_EQ(header_in(posts[0], "Idempotency-Key"), "k-1");
  EXPECT_EQ(header_in(posts[0], "content-type"), "application/json");
  EXPECT_EQ(header_in(posts[0], "trace"), "7");
  EXPECT_EQ(header_in(posts[0], "bytes"), "/w==");
  EXPECT_EQ(header_in(posts[0], "semel-headers"), R"([{"name":"odd name","value":"8"}])");
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(SqsPublishing, ThousandsAreInFlightAndEachIsThereOnce) {
  to_new_queue();
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 500; ++i) {
    const std::string payload = i % 100 == 0 ? std::string(100'000, 'x') : "{}";
    calls.push_back(begin(keyed_message(fmt::format("k-{}", i), payload)));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  const auto keys = keys_in(server().take_all(queue_));
  EXPECT_EQ(keys.size(), 500U);
  for (const auto& [key, times] : keys) EXPECT_EQ(times, 1) << key;
}

TEST_F(SqsPublishing, WhatWaitsTogetherGoesTogether) {
  test::HttpServer service;
  service.on("/", [](const test::HttpRequest& request, std::size_t) {
    std::string taken;
    for (std::size_t at = 0; (at = request.body.find("\"MessageBody\"", at)) != std::string::npos;
         ++at) {
      const auto number = std::ranges::count(taken, '{');
      taken += fmt::format(R"({}{{"Id":"{}","MessageId":"m"}})", number == 0 ? "" : ",", number);
    }
    return test::reply(200, fmt::format(R"({{"Successful":[{}],"Failed":[]}})", taken));
  });
  spec_ = spec_to(service.url("/0/orders"));
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 1'000; ++i) calls.push_back(begin(keyed_message(fmt::format("k-{}", i))));
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  EXPECT_LT(service.requests().size(), 300U);
  EXPECT_GE(service.requests().size(), 100U) << "ten at the most";
}

TEST_F(SqsPublishing, AGroupKeepsItsOrderAndARepeatIsDropped) {
  to_queue(server().new_fifo_queue());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    for (int i = 0; i < 300; ++i) {
      calls.push_back(begin(keyed_message(fmt::format("k-{}", i), std::to_string(i), {},
                                          fmt::format("c-{}", i % 3))));
    }
    for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  }
  std::map<std::string, std::vector<int>> groups;
  const auto posts = server().take_all(queue_);
  EXPECT_EQ(posts.size(), 300U) << "each once";
  for (const auto& post : posts) groups[post.group].push_back(std::stoi(post.body));
  ASSERT_EQ(groups.size(), 3U);
  for (const auto& [group, numbers] : groups) {
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << group;
  }
}

TEST_F(SqsPublishing, AnotherPayloadUnderAKeyIsNoRepeatUnlessItIsSaid) {
  to_queue(server().new_fifo_queue());
  EXPECT_EQ(call(keyed_message("k", "1")).kind(), Kind::kDone);
  EXPECT_EQ(call(keyed_message("k", "2")).kind(), Kind::kDone);
  EXPECT_EQ(server().take_all(queue_).size(), 2U);
  handler_ = nullptr;
  to_queue(server().new_fifo_queue());
  spec_.fifo.deduplication = core::SqsFifo::Deduplication::kKey;
  EXPECT_EQ(call(keyed_message("k", "1")).kind(), Kind::kDone);
  EXPECT_EQ(call(keyed_message("k", "2")).kind(), Kind::kDone);
  const auto posts = server().take_all(queue_);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].deduplication, "k");
}

TEST_F(SqsPublishing, AQueueThatIsNotThereShutsTheGateUntilItIsMade) {
  to_queue(ElasticmqServer::unused_name());
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.sqs.queue") << verdict.reason();
  EXPECT_NE(verdict.reason().find("handler.sqs.queue_url"), std::string::npos) << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate_.shuts().size(), 1U);
  server().make_queue(queue_);
  publish_surely(handler(), gate_, {"k"});
  EXPECT_EQ(server().ready(queue_), 1);
}

TEST_F(SqsPublishing, OneThatIsTooLargeOrNoTextIsDeadAndItsNeighboursAreThere) {
  to_new_queue();
  std::vector<std::unique_ptr<PublishCall>> calls;
  std::set<std::string> others;
  for (int i = 0; i < 40; ++i) {
    std::string payload = "{}";
    if (i == 13) payload = std::string(300'000, 'x');  // more than this server takes
    if (i == 17) payload = std::string(2'000'000, 'x');
    if (i == 19) payload = std::string("\0", 1);
    if (i == 23) payload.clear();
    calls.push_back(begin(keyed_message(fmt::format("k-{}", i), payload)));
  }
  for (int i = 0; i < 40; ++i) {
    const Verdict verdict = calls[static_cast<std::size_t>(i)]->verdict();
    const bool large = i == 13 || i == 17;
    if (large || i == 19 || i == 23) {
      EXPECT_EQ(verdict.kind(), Kind::kDead) << i << ": " << verdict.reason();
      EXPECT_EQ(verdict.code(), large ? "handler.sqs.too_large" : "handler.sqs.invalid") << i;
    } else {
      EXPECT_EQ(verdict.kind(), Kind::kDone) << i << ": " << verdict.reason();
    }
  }
  EXPECT_EQ(keys_in(server().take_all(queue_)).size(), 36U);
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(SqsPublishing, ADelayHidesWhatIsThere) {
  to_new_queue();
  spec_.delay = std::chrono::minutes(15);
  EXPECT_EQ(call(keyed_message("k")).kind(), Kind::kDone);
  EXPECT_EQ(server().ready(queue_), 0);
  EXPECT_TRUE(server().take_all(queue_).empty());
}

TEST_F(SqsPublishing, AnAnswerThatIsLostLeavesTheOutcomeUnknown) {
  to_new_queue();
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  const auto lost = proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold});
  const Verdict verdict = call(keyed_message("k", "only one"));
  EXPECT_EQ(verdict.code(), "handler.sqs.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(proxy.fired(lost), 1U);
  publish_surely(handler(), gate_, {"k"});
  EXPECT_EQ(keys_in(server().take_all(queue_)), (std::map<std::string, int>{{"k", 2}}))
      << "twice, under one key";
}

TEST_F(SqsPublishing, AnAnswerThatIsLostRepeatsNothingOnAFifoQueue) {
  to_queue(server().new_fifo_queue());
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  // The connection was used before.
  EXPECT_EQ(call(keyed_message("k-0", "before it")).kind(), Kind::kDone);
  const auto lost = proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold});
  const Verdict verdict = call(keyed_message("k", "only one"));
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  EXPECT_TRUE(gate_.shuts().empty());
  EXPECT_EQ(server().take_all(queue_).size(), 2U);
}

TEST_F(SqsPublishing, AnAnswerThatIsLostTwiceIsUnknownOnAFifoQueueToo) {
  to_queue(server().new_fifo_queue());
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  const auto lost =
      proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold, .times = 2});
  EXPECT_TRUE(call(keyed_message("k", "only one")).unknown());
  EXPECT_EQ(proxy.fired(lost), 2U);
  // The first request after a failure waits for its turn.
  EXPECT_EQ(call(keyed_message("k", "only one")).kind(), Kind::kDone);
  EXPECT_EQ(server().take_all(queue_).size(), 1U);
}

TEST_F(SqsPublishing, AServiceThatAnswersNothingIsLeftInTime) {
  to_new_queue();
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  spec_.timeout = seconds(2);
  const auto stall = proxy.inject({.text = "first of all", .then = test::TcpProxy::Then::kStall});
  const Verdict verdict = call(keyed_message("k", "first of all"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_TRUE(verdict.unknown()) << verdict.reason();
  EXPECT_EQ(proxy.fired(stall), 1U);
  EXPECT_FALSE(gate_.shuts().empty());
  publish_surely(handler(), gate_, {"k-2"});
}

TEST_F(SqsPublishing, AStoppedCallIsAnsweredAtOnceAndSaysNothingOfTheService) {
  to_new_queue();
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  const auto stall = proxy.inject({.text = "stop me", .then = test::TcpProxy::Then::kStall});
  auto stopped = begin(keyed_message("k", "stop me"));
  ASSERT_TRUE(proxy.wait_fired(stall));
  stopped->stop.request_stop();
  const Verdict verdict = stopped->verdict();
  EXPECT_EQ(verdict.code(), "handler.sqs.timeout");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(SqsPublishing, AConnectionThatEndedWhileItWasIdleCostsNothing) {
  to_new_queue();
  test::TcpProxy proxy(server().port());
  to_proxy(proxy.port());
  EXPECT_EQ(call(keyed_message("k-1")).kind(), Kind::kDone);
  proxy.cut_all();
  publish_surely(handler(), gate_, {"k-2"});
  EXPECT_EQ(keys_in(server().take_all(queue_)).size(), 2U);
}

TEST_F(SqsPublishing, CredentialsThatAreRefusedAreSaidWithoutThem) {
  test::HttpServer service;
  service.on("/", test::reply(403, R"({"__type":"InvalidClientTokenId","message":"who?"})"));
  spec_ = spec_to(service.url("/0/orders"));
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.code(), "handler.sqs.credentials") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(verdict.reason().find("hunter2"), std::string::npos);
  EXPECT_EQ(gate_.shuts().size(), 1U);
}

TEST_F(SqsPublishing, AThrottledServiceIsAskedAgainLater) {
  test::HttpServer service;
  service.on("/", [](const test::HttpRequest&, std::size_t times) {
    return times < 2 ? test::reply(403, R"({"__type":"RequestThrottled","message":"slow"})")
                     : test::reply(200, R"({"Successful":[{"Id":"0","MessageId":"m"}]})");
  });
  spec_ = spec_to(service.url("/0/orders"));
  EXPECT_EQ(call(keyed_message("k")).code(), "handler.sqs.throttled");
  EXPECT_EQ(gate_.shuts().size(), 1U);
  publish_surely(handler(), gate_, {"k"});
  EXPECT_EQ(service.requests().size(), 3U);
}

TEST_F(SqsPublishing, AnAnswerThatDoesNotNameAMessageLeavesItUnknown) {
  test::HttpServer service;
  service.on("/", test::reply(200, "{}"));
  spec_ = spec_to(service.url("/0/orders"));
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.code(), "handler.sqs.server");
  EXPECT_TRUE(verdict.unknown());
}

// libcurl repeats by itself what has no answer on a reused connection: here it must not.
TEST_F(SqsPublishing, AReusedConnectionThatIsCutLeavesTheOutcomeUnknown) {
  test::HttpServer service;
  service.on("/", [](const test::HttpRequest&, std::size_t times) {
    return times == 1 ? test::raw("")
                      : test::reply(200, R"({"Successful":[{"Id":"0","MessageId":"m"}]})");
  });
  spec_ = spec_to(service.url("/0/orders"));
  EXPECT_EQ(call(keyed_message("k-1")).kind(), Kind::kDone);
  const Verdict verdict = call(keyed_message("k-2"));
  EXPECT_EQ(verdict.code(), "handler.sqs.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  const auto requests = service.requests();
  ASSERT_EQ(requests.size(), 2U) << "it was sent again";
  EXPECT_EQ(requests[0].connection, requests[1].connection) << "the connection must be reused";
}

TEST(SqsPublisher, WhatCannotBeIsRefused) {
  core::SqsPublishSpec spec;
  EXPECT_EQ(make_sqs_publisher(spec).error().code, "R255");
  spec.queue = core::read_sqs_url("http://localhost/1/a.fifo").value();
  EXPECT_EQ(make_sqs_publisher(spec).error().code, "R255") << "no region";
  spec.region = "local";
  spec.fifo.group = "a b";
  EXPECT_EQ(make_sqs_publisher(spec).error().code, "R255") << "no group";
}

}  // namespace
}  // namespace semel::sqs
