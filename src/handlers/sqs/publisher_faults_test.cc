// The SQS handler while its server stops and restarts. ElasticMQ keeps messages in memory, so a
// kill loses those that it had accepted.
#include <gtest/gtest.h>

#include <string>

#include "handlers/sqs/test_publishing.h"

namespace semel::sqs {
namespace {

using Kind = Verdict::Kind;

TEST(SqsPublishFaults, AServerThatIsKilledLosesNothingThatIsNotDone) {
  ElasticmqServer server;
  const std::string queue = "orders";
  server.begin_with(queue);
  server.make_queue(queue);
  auto handler = publisher_of(spec_to(server.url(queue)));
  ToldGate gate;
  const auto again = publish_until_killed(handler, gate, server, 1'000).again;
  ASSERT_FALSE(again.empty()) << "the faults came too late";
  publish_surely(handler, gate, again);
  const auto keys = keys_in(server.take_all(queue));
  EXPECT_EQ(keys.size(), again.size());
  for (const std::string& key : again) EXPECT_EQ(keys.count(key), 1U) << key;
}

TEST(SqsPublishFaults, WithoutAServerACallEndsSoon) {
  ElasticmqServer server(ElasticmqServer::Begins::kAway);
  server.begin_with("orders");
  const auto spec = spec_to(server.url("orders"));
  auto handler = publisher_of(spec);
  ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.sqs.connect") << verdict.reason();
  EXPECT_FALSE(verdict.unknown()) << "it was not sent";
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.start();
  publish_surely(handler, gate, {"k"});
}

}  // namespace
}  // namespace semel::sqs
