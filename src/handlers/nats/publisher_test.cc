// The NATS handler and a server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "handlers/nats/make_nats_publisher.h"
#include "tests/support/nats_server.h"
#include "tests/support/publish_calls.h"
#include "tests/support/tcp_proxy.h"

namespace semel::nats {
namespace {

using test::keyed_message;
using test::NatsServer;
using test::publish;
using test::PublishCall;
using Kind = Verdict::Kind;

std::string key_of(const NatsServer::Post& post) {
  for (const auto& [name, value] : post.headers) {
    if (name == "Idempotency-Key") return value;
  }
  return {};
}

class NatsPublishing : public testing::Test {
 protected:
  NatsPublishing() {
    at(server().url());
    spec_.timeout = std::chrono::seconds(20);
  }
  static const NatsServer& server() { return NatsServer::shared(); }
  void at(const std::string& url) { spec_.address = core::read_nats_url(url).value(); }

  AsyncHandler& handler() {
    if (!handler_) {
      auto made = make_nats_publisher(spec_);
      EXPECT_TRUE(made) << made.error().message;
      if (made) handler_ = *std::move(made);
    }
    return handler_;
  }
  Verdict call(Message message) { return publish(handler(), gate_, std::move(message))->verdict(); }
  // Each failure must cost no attempt.
  void publish_in_the_end(const std::string& key, const std::string& payload = "{}") {
    std::string said;
    for (int i = 0; i < 200; ++i) {
      const Verdict verdict = call(keyed_message(key, payload));
      if (verdict.kind() == Kind::kDone) return;
      ASSERT_EQ(verdict.kind(), Kind::kRetry) << verdict.reason();
      ASSERT_FALSE(verdict.counted()) << verdict.reason();
      said = verdict.reason();
    }
    ADD_FAILURE() << "it is never published: " << said;
  }

  core::NatsPublishSpec spec_;
  test::ToldGate gate_;
  AsyncHandler handler_;
};

TEST_F(NatsPublishing, AMessageHasItsKeyAndItsHeaders) {
  const std::string stream = server().new_stream();
  spec_.subject = stream + ".paid";
  auto parts = test::make_parts(ConsumerNumber{1}, "k-1", "{\"n\":1}");
  parts.headers = {{"trace", "7"}, {"trace", "8"}, {"Nats-Msg-Id", "of another stream"}};
  parts.content_type = "application/json";
  const Verdict verdict = call(Message(std::move(parts)));
  EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
  EXPECT_EQ(verdict.result(), stream + "-1");
  const auto posts = server().stored(stream);
  ASSERT_EQ(posts.size(), 1U);
  EXPECT_EQ(posts[0].body, "{\"n\":1}");
  EXPECT_EQ(posts[0].below, "paid");
  EXPECT_TRUE(posts[0].id.starts_with(spec_.subject + " k-1 ")) << posts[0].id;
  using NameAndValue = std::pair<std::string, std::string>;
  const std::set<NameAndValue> headers(posts[0].headers.begin(), posts[0].headers.end());
  EXPECT_EQ(headers, (std::set<NameAndValue>{{"trace", "7"},
                                             {"trace", "8"},
                                             {"Nats-Msg-Id", posts[0].id},
                                             {"Idempotency-Key", "k-1"},
                                             {"Content-Type", "application/json"}}));
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(NatsPublishing, ThousandsAreInFlightAndKeepTheirOrder) {
  spec_.subject = server().new_stream();
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 2'000; ++i) {
    calls.push_back(publish(handler(), gate_, keyed_message(fmt::format("k-{}", i))));
  }
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  const auto posts = server().stored(spec_.subject);
  ASSERT_EQ(posts.size(), calls.size());
  for (std::size_t i = 0; i < posts.size(); ++i)
    EXPECT_EQ(key_of(posts[i]), fmt::format("k-{}", i));
}

TEST_F(NatsPublishing, WhatComesAgainWithinTheWindowIsDoneAndStoredOnce) {
  spec_.subject = server().new_stream();
  const Verdict first = call(keyed_message("k"));
  const Verdict second = call(keyed_message("k"));
  EXPECT_EQ(second.kind(), Kind::kDone) << second.reason();
  EXPECT_EQ(second.result(), first.result());
  EXPECT_EQ(server().stored_count(spec_.subject), 1);
}

// A stream drops repeats of an id, whatever their subjects are.
TEST_F(NatsPublishing, TwoSubjectsOfOneStreamBothGetAMessageOfOneKey) {
  const std::string stream = server().new_stream();
  spec_.subject = stream + ".paid";
  const Verdict paid = call(keyed_message("k"));
  spec_.subject = stream + ".packed";
  handler_ = nullptr;
  const Verdict packed = call(keyed_message("k"));
  EXPECT_EQ(paid.result(), stream + "-1") << paid.reason();
  EXPECT_EQ(packed.result(), stream + "-2") << packed.reason();
  const Verdict again = call(keyed_message("k"));
  EXPECT_EQ(again.kind(), Kind::kDone) << again.reason();
  EXPECT_EQ(again.result(), packed.result());
  const auto posts = server().stored(stream);
  ASSERT_EQ(posts.size(), 2U);
  EXPECT_EQ(posts[0].below, "paid");
  EXPECT_EQ(posts[1].below, "packed");
}

TEST_F(NatsPublishing, WhatAnotherStoredUnderTheKeyIsNotTakenForTheMessage) {
  const std::string stream = server().new_stream();
  spec_.subject = stream + ".paid";
  // One message has the id of a source's own message, the other an id that another producer might
  // use.
  server().publish(stream, {{.body = "new", .id = "k", .below = "new"},
                            {.body = "other", .id = spec_.subject + " k", .below = "paid"}});
  const Verdict first = call(keyed_message("k", "{\"n\":1}"));
  EXPECT_EQ(first.result(), stream + "-3") << first.reason();
  const Verdict second = call(keyed_message("k", "{\"n\":2}"));
  EXPECT_EQ(second.result(), stream + "-4") << second.reason();
  const auto posts = server().stored(stream);
  ASSERT_EQ(posts.size(), 4U);
  EXPECT_EQ(posts[2].body, "{\"n\":1}");
  EXPECT_EQ(posts[3].body, "{\"n\":2}");
}

TEST_F(NatsPublishing, ASubjectThatNoStreamTakesShutsTheGate) {
  spec_.subject = NatsServer::unused_name();
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.nats.stream") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_EQ(gate_.shuts().size(), 1U);
  EXPECT_NE(gate_.shuts()[0].find(spec_.subject), std::string::npos) << gate_.shuts()[0];
}

TEST_F(NatsPublishing, AFullStreamIsWaitedFor) {
  spec_.subject = server().new_stream(R"(,"max_msgs":1,"discard":"new")");
  EXPECT_EQ(call(keyed_message("k-1")).kind(), Kind::kDone);
  const Verdict verdict = call(keyed_message("k-2"));
  EXPECT_EQ(verdict.code(), "handler.nats.full") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate_.shuts().size(), 1U);
  server().purge_stream(spec_.subject);
  EXPECT_EQ(call(keyed_message("k-2")).kind(), Kind::kDone);
}

// The server refuses it as one that has no room at present.
TEST_F(NatsPublishing, AMessageThatNoRoomIsEverForShutsTheGateOnceAndTheOthersGoOn) {
  spec_.subject = server().new_stream(R"(,"max_bytes":20000,"discard":"new")");
  const std::string large(30'000, 'x');
  EXPECT_EQ(call(keyed_message("bad", large)).code(), "handler.nats.full");
  EXPECT_EQ(gate_.shuts().size(), 1U) << "there may be no room for anybody";
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(call(keyed_message(fmt::format("good-{}", i))).kind(), Kind::kDone);
    const Verdict verdict = call(keyed_message("bad", large));
    EXPECT_EQ(verdict.code(), "handler.nats.full") << verdict.reason();
    EXPECT_FALSE(verdict.counted()) << "room is waited for";
  }
  EXPECT_EQ(gate_.shuts().size(), 1U) << gate_.shuts().back();
}

TEST_F(NatsPublishing, WhatIsTooLargeIsDeadAndTheOthersAreNot) {
  spec_.subject = server().new_stream(R"(,"max_msg_size":10000)");
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (int i = 0; i < 30; ++i) {
    // Too large for the stream, and too large for the server.
    const std::size_t size = i == 10 ? 20'000 : i == 20 ? 2 << 20 : 100;
    calls.push_back(
        publish(handler(), gate_, keyed_message(fmt::format("k-{}", i), std::string(size, 'x'))));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Verdict verdict = calls[i]->verdict();
    const bool large = i == 10 || i == 20;
    EXPECT_EQ(verdict.kind(), large ? Kind::kDead : Kind::kDone) << i << ": " << verdict.reason();
    EXPECT_EQ(verdict.code(), large ? "handler.nats.too_large" : "") << i;
  }
  EXPECT_TRUE(gate_.shuts().empty());
}

TEST_F(NatsPublishing, HeadersCountTowardsTheSizeOfAMessage) {
  spec_.subject = server().new_stream();
  const Verdict verdict =
      call(keyed_message("k", "{}", {{"big", std::string((1 << 20) - 10, 'x')}}));
  EXPECT_EQ(verdict.kind(), Kind::kDead) << verdict.reason();
  EXPECT_EQ(verdict.code(), "handler.nats.too_large");
  EXPECT_EQ(call(keyed_message("k-2")).kind(), Kind::kDone);
}

TEST_F(NatsPublishing, AHeaderThatWouldBecomeTwoIsDead) {
  spec_.subject = server().new_stream();
  const Verdict verdict = call(keyed_message("k", "{}", {{"a", "1\r\nNats-Rollup: all"}}));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.nats.invalid");
  EXPECT_EQ(server().stored_count(spec_.subject), 0);
}

TEST_F(NatsPublishing, WhoMayNotPublishWaitsForTheRight) {
  spec_.subject = server().new_stream();
  at(server().url("reader:right"));
  spec_.timeout = std::chrono::seconds(1);
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.nats.denied") << verdict.reason();
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate_.shuts().size(), 1U);
}

TEST_F(NatsPublishing, AnAccountWithoutJetStreamHasNoStream) {
  spec_.subject = server().new_stream();
  at(server().url("bare:right"));
  EXPECT_EQ(call(keyed_message("k")).code(), "handler.nats.stream");
}

TEST_F(NatsPublishing, AWrongPasswordIsSaidWithoutIt) {
  spec_.subject = "orders";
  at(server().url("owner:wrong-hunter2"));
  const Verdict verdict = call(keyed_message("k"));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.nats.connect");
  EXPECT_NE(verdict.reason().find("refuses the login"), std::string::npos) << verdict.reason();
  EXPECT_EQ(verdict.reason().find("hunter2"), std::string::npos);
  EXPECT_FALSE(verdict.unknown());
}

TEST_F(NatsPublishing, AnAnswerThatIsLostLeavesTheOutcomeUnknownAndTheRepeatIsDropped) {
  spec_.subject = server().new_stream();
  test::TcpProxy proxy(server().port());
  at(fmt::format("nats://owner:right@127.0.0.1:{}", proxy.port()));
  const auto lost = proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold});
  const Verdict verdict = call(keyed_message("k", "only one"));
  EXPECT_EQ(verdict.code(), "handler.nats.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  EXPECT_EQ(proxy.fired(lost), 1U);
  publish_in_the_end("k", "only one");
  EXPECT_EQ(server().stored_count(spec_.subject), 1) << "within the stream's window";
}

TEST_F(NatsPublishing, AServerThatAnswersNothingIsLeftAndReachedAnew) {
  spec_.subject = server().new_stream();
  test::TcpProxy proxy(server().port());
  at(fmt::format("nats://owner:right@127.0.0.1:{}", proxy.port()));
  spec_.timeout = std::chrono::milliseconds(500);
  const auto stall = proxy.inject({.text = "first of all", .then = test::TcpProxy::Then::kStall});
  for (int i = 0; i < 3; ++i) {
    const Verdict verdict = call(keyed_message(fmt::format("k-{}", i), "first of all"));
    EXPECT_EQ(verdict.code(), "handler.nats.timeout") << verdict.reason();
    EXPECT_TRUE(verdict.unknown());
  }
  EXPECT_EQ(proxy.fired(stall), 1U);
  EXPECT_FALSE(gate_.shuts().empty());
  publish_in_the_end("k-4");
}

TEST_F(NatsPublishing, AStoppedCallIsAnsweredAtOnce) {
  spec_.subject = server().new_stream();
  test::TcpProxy proxy(server().port());
  at(fmt::format("nats://owner:right@127.0.0.1:{}", proxy.port()));
  const auto stall = proxy.inject({.text = "stop me", .then = test::TcpProxy::Then::kStall});
  auto stopped = publish(handler(), gate_, keyed_message("k", "stop me"));
  ASSERT_TRUE(proxy.wait_fired(stall));
  stopped->stop.request_stop();
  const Verdict verdict = stopped->verdict();
  EXPECT_EQ(verdict.code(), "handler.nats.timeout");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_TRUE(gate_.shuts().empty()) << "a stop says nothing of the server";
}

TEST(NatsPublishSettings, WhatIsWrongInASpecIsNamed) {
  core::NatsPublishSpec spec;
  spec.subject = "orders";
  EXPECT_EQ(make_nats_publisher(spec).error().code, "R255");
  spec.address = core::read_nats_url("nats://127.0.0.1:1").value();
  spec.subject = "orders.*";
  EXPECT_EQ(make_nats_publisher(spec).error().code, "R255");
}

}  // namespace
}  // namespace semel::nats
