// RabbitMQ joins the source suite, on a real broker; plus tests of features that only RabbitMQ has.
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "sources/rabbitmq/make_rabbitmq_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/rabbitmq_server.h"
#include "tests/support/server_address.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tls.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::RabbitmqServer;

core::RabbitmqSpec spec_for(const std::string& queue) {
  core::RabbitmqSpec spec;
  spec.address = core::read_amqp_url(RabbitmqServer::shared().url()).value();
  spec.queue = queue;
  spec.prefetch = 1'000;
  return spec;
}

class RabbitmqPlace final : public SourcePlace {
 public:
  explicit RabbitmqPlace(const std::string& type)
      : queue_(RabbitmqServer::shared().new_queue(type)) {}
  ~RabbitmqPlace() override { RabbitmqServer::shared().delete_queue(queue_); }

  void add(const std::vector<Bytes>& payloads) override {
    added_ = added_ || !payloads.empty();
    RabbitmqServer::shared().publish_bodies(queue_, payloads);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto source = rabbitmq::make_rabbitmq_source({spec_for(queue_), false});
    if (added_) wait_until_it_has_come(*source);
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  const std::string queue_;
  bool added_ = false;
};

SourceCase rabbitmq_case(const std::string& type) {
  return {"rabbitmq_" + type,
          [type] { return std::unique_ptr<SourcePlace>(new RabbitmqPlace(type)); }};
}

INSTANTIATE_TEST_SUITE_P(Rabbitmq, SourceSuite,
                         testing::Values(rabbitmq_case("quorum"), rabbitmq_case("classic")),
                         testing::PrintToStringParamName());

class Consumer : public Receiver {
 public:
  explicit Consumer(core::RabbitmqSpec spec)
      : Receiver(rabbitmq::make_rabbitmq_source({std::move(spec), true}), 60s) {}

  // The first arrivals, though no broker may have answered before.
  std::size_t come_after_all() {
    std::size_t count = 0;
    test::comes_true([&] {
      const auto received = source().receive({});
      const bool refused = !received && received.error().kind == ErrorKind::kRejected;
      if (refused) ADD_FAILURE() << received.error().message;
      if (received) count = received->arrivals.size();
      return refused || count > 0;
    });
    return count;
  }
};

std::string queue_of(std::size_t messages, const std::string& type = "quorum") {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue(type);
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < messages; ++i) bodies.push_back(fmt::format("{{\"n\":{}}}", i));
  server.publish_bodies(queue, bodies);
  return queue;
}

// Open deliveries fill the prefetch, and nothing else does.
TEST(RabbitmqSource, ASlowMessageKeepsNoPlaceButItsOwn) {
  auto spec = spec_for(queue_of(40));
  spec.prefetch = 3;
  Consumer consumer(spec);
  const auto slow = consumer.receive(1);
  ASSERT_EQ(slow.size(), 1U);
  for (int i = 0; i < 39; ++i) {
    const auto next = consumer.receive(1);
    ASSERT_EQ(next.size(), 1U) << i << ": acknowledged though it stands behind an open one";
    consumer.settle(next);
  }
  consumer.settle(slow);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(RabbitmqServer::shared().depth(spec.queue), 0);
}

TEST(RabbitmqSource, ThePrefetchIsTheMostThatIsOut) {
  auto spec = spec_for(queue_of(10));
  spec.prefetch = 4;
  Consumer consumer(spec);
  EXPECT_EQ(consumer.receive(4).size(), 4U);
  EXPECT_EQ(RabbitmqServer::shared().depth(spec.queue), 6) << "they wait at the broker";
  EXPECT_TRUE(consumer.receive(1, 50ms).empty());
}

// Put back, it would be dropped at last by a queue with a delivery limit.
TEST(RabbitmqSource, WhatIsReleasedIsNotCountedByTheBroker) {
  const auto spec = spec_for(queue_of(1));
  Consumer consumer(spec);
  for (int i = 0; i < 5; ++i) {
    const auto taken = consumer.receive(1);
    ASSERT_EQ(taken.size(), 1U) << i;
    EXPECT_FALSE(find_header(taken[0].headers, "x-delivery-count").has_value()) << i;
    consumer.settle(taken, Settlement::Kind::kRelease);
  }
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  Consumer next(spec);
  const auto again = next.receive(1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(find_header(again[0].headers, "x-delivery-count"), "1") << "by the close";
}

// The broker hangs up on a client that keeps silent for longer than its heartbeat, and not on a
// source from which nobody receives. A machine that stands still as long silences a source too: one
// of some tries is enough.
// The process that had it in hand may have died of it.
TEST(RabbitmqSource, ARedeliveredArrivalIsSuspectAndANewOneIsNot) {
  const auto spec = spec_for(queue_of(2));
  {
    Consumer dies(spec);
    const auto first = dies.receive(2);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_TRUE(std::ranges::none_of(first, &Arrival::suspect));
  }
  RabbitmqServer::shared().publish_bodies(spec.queue, {"new"});
  Consumer next(spec);
  const auto arrivals = next.receive(3);
  ASSERT_EQ(arrivals.size(), 3U);
  for (const Arrival& arrival : arrivals) {
    EXPECT_EQ(arrival.suspect, arrival.payload != "new") << arrival.payload;
  }
}

TEST(RabbitmqSource, HeartbeatsAreKeptThoughNobodyReceives) {
  constexpr std::chrono::seconds kHeartbeat{1};
  constexpr int kTries = 5;
  for (int tries = 0; tries < kTries; ++tries) {
    auto spec = spec_for(queue_of(4));
    spec.heartbeat = kHeartbeat;
    Consumer consumer(spec);
    const auto first = consumer.receive(2);
    ASSERT_EQ(first.size(), 2U);
    ASSERT_TRUE(RabbitmqServer::shared().hangs_up_on_the_silent(kHeartbeat));
    consumer.settle(first);
    const auto rest = consumer.receive(2);
    ASSERT_EQ(rest.size(), 2U);
    if (rest[0].tag.generation != first[0].tag.generation) continue;
    consumer.settle(rest);
    EXPECT_TRUE(consumer.source().close(60s).has_value());
    EXPECT_EQ(RabbitmqServer::shared().depth(spec.queue), 0);
    return;
  }
  FAIL() << "never the same connection";
}

TEST(RabbitmqSource, AMessageBringsItsPropertiesAndItsHeaders) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  server.publish(queue, {{.body = "{}",
                          .headers = {{"cloudEvents:id", "7"}, {"x", ""}},
                          .message_id = "m-1",
                          .content_type = "application/json",
                          .correlation_id = "c-1"}});
  Consumer consumer(spec_for(queue));
  const auto arrivals = consumer.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].broker_key, "m-1");
  EXPECT_EQ(arrivals[0].content_type, "application/json");
  EXPECT_EQ(find_header(arrivals[0].headers, "cloudEvents:id"), "7");
  EXPECT_EQ(find_header(arrivals[0].headers, "amqp-correlation-id"), "c-1");
  EXPECT_EQ(arrivals[0].partition, queue);
  EXPECT_FALSE(arrivals[0].broker_time.has_value());
}

// The default stack of threads, as it is where the stack of a process is unlimited.
class SmallStacks {
 public:
  SmallStacks() {
    pthread_attr_t small;
    EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(::pthread_attr_init(&small), 0);
    EXPECT_EQ(::pthread_attr_setstacksize(&small, std::size_t{2} << 20), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&small), 0);
    ::pthread_attr_destroy(&small);
  }
  ~SmallStacks() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  SmallStacks(const SmallStacks&) = delete;
  SmallStacks& operator=(const SmallStacks&) = delete;

 private:
  pthread_attr_t before_{};
};

// librabbitmq decodes lists in lists by recursion. These fill a frame but for some bytes.
TEST(RabbitmqSource, AHeaderThatIsAllNestedListsIsAMessageLikeAnother) {
  constexpr std::size_t kDeepest = 26'200;
  const SmallStacks small;
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue();
  server.publish_nested(queue, kDeepest);
  Consumer consumer(spec_for(queue));
  const auto arrivals = consumer.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_TRUE(find_header(arrivals[0].headers, "deep").has_value());
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  // The broker may answer questions about a queue before it takes note of an acknowledgement.
  EXPECT_TRUE(test::comes_true([&] { return server.messages(queue) == 0; }));
}

TEST(RabbitmqSource, AStreamIsRefused) {
  const auto& server = RabbitmqServer::shared();
  const std::string queue = server.new_queue("stream");
  Consumer consumer(spec_for(queue));
  EXPECT_TRUE(consumer.receive(1, 300ms).empty());
  server.publish_bodies(queue, {"{}", "{}"});
  EXPECT_EQ(consumer.failure_of().code, "R316");
  server.delete_queue(queue);
}

// A broker that accepts connections and sends nothing.
class DeafBroker {
 public:
  core::RabbitmqSpec spec() const {
    auto spec = spec_for("any");
    spec.address.nodes = {{"127.0.0.1", static_cast<unsigned>(listener_.port)}};
    return spec;
  }
  // Returns when a client has begun its login.
  void wait_for_login() {
    client_ = system::Descriptor(::accept(listener_.fd.get(), nullptr, nullptr));
    pollfd begun{client_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&begun, 1, 60'000), 1);
  }
  // Whether that client still waits for an answer.
  bool is_waited_for() const {
    std::array<char, 64> said{};
    ssize_t got = 0;
    while ((got = ::recv(client_.get(), said.data(), said.size(), MSG_DONTWAIT)) > 0) {
    }
    return got < 0;
  }

 private:
  test::OwnListener listener_ = test::own_listener();
  system::Descriptor client_;
};

// If a login that began earlier is still open when the close returns, the close has not waited for
// its own login. A machine that stalls for longer than a login may take proves nothing.
TEST(RabbitmqSource, ABrokerThatDoesNotAnswerKeepsNoCloseWaiting) {
  constexpr int kTries = 5;
  bool waited_for = false;
  for (int tries = 0; tries < kTries && !waited_for; ++tries) {
    DeafBroker before, deaf;
    Consumer longer(before.spec()), closed(deaf.spec());
    EXPECT_TRUE(longer.receive(1, 1ms).empty());
    before.wait_for_login();
    EXPECT_TRUE(closed.receive(1, 1ms).empty());
    deaf.wait_for_login();
    (void)closed.source().close(100ms);
    waited_for = before.is_waited_for();
  }
  EXPECT_TRUE(waited_for) << "the close waits for as long as the login may take";
}

// One test only, because it starts a broker of its own.
TEST(RabbitmqTls, MessagesComeWhereTheCertificateIsGoodAndNowhereElse) {
  const test::TlsIdentity identity("DNS:localhost");
  const RabbitmqServer server(
      {.terms = {}, .certificate = identity.certificate(), .key = identity.private_key()});
  const std::string queue = server.new_queue("classic");
  server.publish_bodies(queue, {"{}", Bytes(300'000, 'x')});
  const auto spec_at = [&](const std::string& host, const std::string& ca) {
    core::RabbitmqSpec spec;
    spec.address =
        core::read_amqp_url(fmt::format("amqps://owner:right@{}:{}", host, server.tls_port()))
            .value();
    spec.queue = queue;
    spec.tls_ca = ca;
    return spec;
  };
  const std::string ca = server.certificate_file();
  EXPECT_EQ(Consumer(spec_at("localhost", {})).failure_of().code, "R312") << "by nobody we know";
  const Error other_name = Consumer(spec_at("127.0.0.1", ca)).failure_of();
  EXPECT_EQ(other_name.code, "R312");
  EXPECT_NE(other_name.message.find("not for this name"), std::string::npos) << other_name.message;
  EXPECT_EQ(Consumer(spec_at("localhost", "/not/there")).failure_of().code, "R312");
  auto plain = spec_at("localhost", ca);
  plain.address.nodes[0].port = static_cast<unsigned>(server.port());
  EXPECT_EQ(Consumer(plain).failure_of().code, "R312") << "a port without TLS";

  // A broker that ends, or a proxy in front of it, closes the connection during a handshake.
  for (const bool reset : {true, false}) {
    test::TcpProxy proxy(server.tls_port());
    const auto cut = proxy.inject({.bytes = 50, .reset = reset});
    auto through = spec_at("localhost", ca);
    through.address.nodes[0].port = static_cast<unsigned>(proxy.port());
    Consumer patient(through);
    EXPECT_GE(patient.come_after_all(), 1U);
    EXPECT_EQ(proxy.fired(cut), 1U);
  }

  Consumer consumer(spec_at("localhost", ca));
  const auto arrivals = consumer.receive(2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[1].payload.size(), 300'000U);
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.depth(queue), 0);
}

}  // namespace
}  // namespace semel::conformance
