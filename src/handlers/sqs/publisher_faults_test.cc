// The SQS handler while its server goes and comes. ElasticMQ keeps messages in memory: what it had
// taken before a kill is gone with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

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
  std::vector<std::string> again;
  std::size_t sent = 0;
  // A kill may come too late for all of them.
  for (int tries = 0; tries < 10 && again.empty(); ++tries) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    const std::size_t first = sent;
    for (; sent < first + 1'000; ++sent) {
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
  ASSERT_FALSE(again.empty()) << "the faults came too late";
  EXPECT_FALSE(gate.shuts().empty());
  publish_surely(handler, gate, again);
  const auto keys = keys_in(server.take_all(queue));
  EXPECT_EQ(keys.size(), again.size());
  for (const std::string& key : again) EXPECT_EQ(keys.count(key), 1U) << key;
}

TEST(SqsPublishFaults, WithoutAServerACallEndsSoon) {
  ElasticmqServer server;
  server.begin_with("orders");
  const auto spec = spec_to(server.url("orders"));
  server.kill();
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
