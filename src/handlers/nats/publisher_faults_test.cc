// The NATS handler while its server stops and restarts.
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
using test::publish_surely;
using test::publish_through_kills;
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

TEST(NatsPublishFaults, AServerThatIsKilledLosesNothingAndDropsWhatRepeats) {
  NatsServer server;
  const std::string stream = server.new_stream();
  auto handler = publisher_of(server, stream);
  test::ToldGate gate;
  const std::size_t sent = publish_through_kills(handler, gate, server, 5'000);
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

// The server refused the subscription for answers on the current connection.
TEST(NatsPublishFaults, ARightThatIsGivenLaterIsUsedWithoutARestart) {
  NatsServer server;
  core::NatsPublishSpec spec;
  spec.address = core::read_nats_url(server.url("deaf:right")).value();
  spec.subject = server.new_stream();
  spec.timeout = std::chrono::seconds(1);
  auto handler = make_nats_publisher(spec).value();
  test::ToldGate gate;
  const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
  EXPECT_EQ(verdict.code(), "handler.nats.denied") << verdict.reason();
  EXPECT_TRUE(verdict.unknown()) << "it is stored, and nobody hears of it";
  server.let_deaf_hear();
  publish_surely(handler, gate, {"k"});
  EXPECT_EQ(server.stored_count(spec.subject), 1);
}

}  // namespace
}  // namespace semel::nats
