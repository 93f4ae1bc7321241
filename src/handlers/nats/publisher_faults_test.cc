// The NATS handler while its server goes and comes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "handlers/nats/make_nats_publisher.h"
#include "tests/support/nats_server.h"
#include "tests/support/publish_calls.h"

namespace semel::nats {
namespace {

using test::keyed_message;
using test::NatsServer;
using test::publish;
using test::PublishCall;
using Kind = Verdict::Kind;

AsyncHandler publisher_of(const NatsServer& server, const std::string& subject) {
  core::NatsPublishSpec spec;
  spec.address = core::read_nats_url(server.url()).value();
  spec.subject = subject;
  spec.timeout = std::chrono::seconds(30);
  auto made = make_nats_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

// Until all are done; each try that failed cost no attempt.
void publish_surely(AsyncHandler& handler, Gate& gate, std::vector<std::string> keys) {
  std::string said;
  for (int i = 0; i < 200 && !keys.empty(); ++i) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    for (const std::string& key : keys) calls.push_back(publish(handler, gate, keyed_message(key)));
    std::vector<std::string> again;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      const Verdict verdict = calls[at]->verdict();
      if (verdict.kind() == Kind::kDone) continue;
      ASSERT_EQ(verdict.kind(), Kind::kRetry) << verdict.reason();
      ASSERT_FALSE(verdict.counted()) << verdict.reason();
      said = verdict.reason();
      again.push_back(keys[at]);
    }
    keys = std::move(again);
  }
  EXPECT_TRUE(keys.empty()) << keys.size() << " are never published: " << said;
}

TEST(NatsPublishFaults, AServerThatIsKilledLosesNothingAndDropsWhatRepeats) {
  NatsServer server;
  const std::string stream = server.new_stream();
  auto handler = publisher_of(server, stream);
  test::ToldGate gate;
  std::vector<std::string> again;
  std::size_t sent = 0;
  // A kill may come too late for all of them.
  for (int tries = 0; tries < 10 && again.empty(); ++tries) {
    std::vector<std::unique_ptr<PublishCall>> calls;
    const std::size_t first = sent;
    for (; sent < first + 5'000; ++sent) {
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
  EXPECT_FALSE(again.empty()) << "the faults came too late";
  EXPECT_FALSE(gate.shuts().empty());
  publish_surely(handler, gate, again);
  std::multiset<std::string> ids;
  for (const auto& post : server.stored(stream)) ids.insert(post.id);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), sent) << "none is lost";
  EXPECT_EQ(ids.size(), sent) << "the stream drops what comes again";
}

TEST(NatsPublishFaults, WithoutAServerACallEndsSoon) {
  NatsServer server;
  const std::string stream = server.new_stream();
  server.kill();
  auto handler = publisher_of(server, stream);
  test::ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.nats.connect");
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate.shuts().size(), 1U);
  server.start();
  publish_surely(handler, gate, {"k"});
}

}  // namespace
}  // namespace semel::nats
