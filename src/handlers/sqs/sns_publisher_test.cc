// The SNS handler and a server, with a queue that subscribes to its topic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "handlers/sqs/make_sns_publisher.h"
#include "handlers/sqs/test_publishing.h"
#include "tests/support/http_server.h"
#include "tests/support/moto_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::sqs {
namespace {

using Kind = Verdict::Kind;
using test::MotoServer;

core::SnsPublishSpec spec_to_topic(const std::string& arn, const std::string& endpoint) {
  core::SnsPublishSpec spec;
  spec.queue = core::read_sns_topic(arn, endpoint).value();
  spec.region = spec.queue.region;
  spec.keys = {"AKID", "hunter2", {}};
  spec.timeout = std::chrono::seconds(20);
  return spec;
}

AsyncHandler publisher_to_topic(const core::SnsPublishSpec& spec) {
  auto made = make_sns_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

class SnsPublishing : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = MotoServer::why_absent()) GTEST_SKIP() << *why;
  }
  static const MotoServer& server() { return MotoServer::shared(); }
  AsyncHandler to_topic(const std::string& arn) {
    return publisher_to_topic(spec_to_topic(arn, server().url({})));
  }
  ToldGate gate_;
};

TEST_F(SnsPublishing, ASubscriberGetsPayloadAttributesAndKey) {
  const std::string topic = server().new_topic();
  const std::string queue = server().new_subscriber(topic);
  auto handler = to_topic(topic);
  const Verdict verdict =
      publish(handler, gate_, keyed_message("k-1", "{\"a\":\"<&>\"}", {{"trace", "7"}}))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  EXPECT_FALSE(verdict.result().empty());
  const auto posts = server().take_all(queue);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].body, "{\"a\":\"<&>\"}");
  EXPECT_EQ(header_in(posts[0], "Idempotency-Key"), "k-1");
  EXPECT_EQ(header_in(posts[0], "trace"), "7");
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(SnsPublishing, HundredsAreInFlightAndEachIsThereOnce) {
  const std::string topic = server().new_topic();
  const std::string queue = server().new_subscriber(topic);
  auto handler = to_topic(topic);
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(publish(handler, gate_, keyed_message(fmt::format("k-{}", i))));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  const auto keys = keys_in(server().take_all(queue));
  EXPECT_EQ(keys.size(), 200U);
  for (const auto& [key, times] : keys) EXPECT_EQ(times, 1) << key;
}

TEST_F(SnsPublishing, AGroupOfAFifoTopicKeepsItsOrder) {
  const std::string topic = server().new_fifo_topic();
  const std::string queue = server().new_subscriber(topic);
  auto handler = to_topic(topic);
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 60; ++i) {
    calls.push_back(publish(
        handler, gate_,
        keyed_message(fmt::format("k-{}", i), std::to_string(i), {}, fmt::format("c-{}", i % 2))));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  std::map<std::string, std::vector<int>> groups;
  for (const auto& post : server().take_all(queue)) {
    groups[post.group].push_back(std::stoi(post.body));
  }
  ASSERT_EQ(groups.size(), 2U);
  for (const auto& [group, numbers] : groups) {
    EXPECT_EQ(numbers.size(), 30U) << group;
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << group;
  }
}

TEST_F(SnsPublishing, ATopicThatIsNotThereShutsTheGateUntilItIsMade) {
  const std::string name = ElasticmqServer::unused_name();
  auto handler = to_topic(MotoServer::arn_of(name));
  const Verdict verdict = publish(handler, gate_, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.sns.topic") << verdict.reason();
  EXPECT_NE(verdict.reason().find("handler.sns.topic_arn"), std::string::npos) << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate_.shuts().size(), 1U);
  server().make_topic(name);
  publish_surely(handler, gate_, {"k"});
}

TEST_F(SnsPublishing, AnAnswerThatIsLostLeavesTheOutcomeUnknown) {
  const std::string topic = server().new_topic();
  const std::string queue = server().new_subscriber(topic);
  test::TcpProxy proxy(server().port());
  auto handler =
      publisher_to_topic(spec_to_topic(topic, fmt::format("http://127.0.0.1:{}", proxy.port())));
  const auto lost = proxy.inject({.text = "onlyone", .then = test::TcpProxy::Then::kWithhold});
  const Verdict verdict = publish(handler, gate_, keyed_message("k", "onlyone"))->verdict();
  EXPECT_EQ(verdict.code(), "handler.sns.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  EXPECT_EQ(proxy.fired(lost), 1U);
  publish_surely(handler, gate_, {"k"});
  EXPECT_EQ(keys_in(server().take_all(queue)), (std::map<std::string, int>{{"k", 2}}))
      << "twice, under one key";
}

TEST_F(SnsPublishing, OneThatIsTooLargeIsDeadAndItsNeighbourIsThere) {
  const std::string topic = server().new_topic();
  const std::string queue = server().new_subscriber(topic);
  auto handler = to_topic(topic);
  auto large = publish(handler, gate_, keyed_message("k-1", std::string(300'000, 'x')));
  auto small = publish(handler, gate_, keyed_message("k-2"));
  const Verdict verdict = large->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.sns.too_large") << verdict.reason();
  EXPECT_EQ(small->verdict().kind(), Kind::kDone);
  EXPECT_EQ(server().take_all(queue).size(), 1U);
}

// libcurl repeats by itself what has no answer on a reused connection: here it must not.
TEST(SnsPublisher, AReusedConnectionThatIsCutLeavesTheOutcomeUnknown) {
  test::HttpServer service;
  service.on("/", [](const test::HttpRequest&, std::size_t times) {
    return times == 1
               ? test::raw("")
               : test::reply(200,
                             "<PublishBatchResponse><PublishBatchResult><Successful><member><Id>0"
                             "</Id><MessageId>m</MessageId></member></Successful><Failed/>"
                             "</PublishBatchResult></PublishBatchResponse>");
  });
  auto handler =
      publisher_to_topic(spec_to_topic("arn:aws:sns:eu-west-1:1:orders", service.url("")));
  ToldGate gate;
  const Verdict first = publish(handler, gate, keyed_message("k-1"))->verdict();
  EXPECT_EQ(first.kind(), Kind::kDone) << first.reason();
  const Verdict cut = publish(handler, gate, keyed_message("k-2"))->verdict();
  EXPECT_EQ(cut.code(), "handler.sns.reset") << cut.reason();
  EXPECT_TRUE(cut.unknown());
  const auto requests = service.requests();
  ASSERT_EQ(requests.size(), 2U) << "it was sent again";
  EXPECT_EQ(requests[0].connection, requests[1].connection) << "the connection must be reused";
}

TEST(SnsPublisher, ACallIsSignedForSnsAndARefusalIsNamed) {
  test::HttpServer service;
  service.on("/", test::reply(403,
                              "<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError"
                              "</Code><Message>not &lt;you&gt;</Message></Error></ErrorResponse>"));
  auto handler =
      publisher_to_topic(spec_to_topic("arn:aws:sns:eu-west-1:1:orders", service.url("")));
  ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.code(), "handler.sns.denied") << verdict.reason();
  EXPECT_NE(verdict.reason().find("not <you>"), std::string::npos) << verdict.reason();
  EXPECT_NE(verdict.reason().find("sns:Publish"), std::string::npos) << verdict.reason();
  const auto requests = service.requests();
  ASSERT_FALSE(requests.empty());
  EXPECT_EQ(requests[0].header("content-type"), "application/x-www-form-urlencoded");
  EXPECT_TRUE(requests[0].body.starts_with("Action=PublishBatch&Version=2010-03-31&TopicArn="));
  const std::string signature = requests[0].header("authorization");
  EXPECT_NE(
      signature.find("/eu-west-1/sns/aws4_request, SignedHeaders=content-type;host;x-amz-date"),
      std::string::npos)
      << signature;
}

}  // namespace
}  // namespace semel::sqs
