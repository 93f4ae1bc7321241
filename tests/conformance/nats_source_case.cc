// NATS joins the source suite, on a real server; and what only a source of its kind does.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>
#include <thread>

#include "sources/nats/make_nats_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/nats_server.h"
#include "tests/support/server_address.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::NatsServer;

constexpr const char* kDurable = "semel";

core::NatsSpec nats_spec_for(const std::string& stream) {
  core::NatsSpec spec;
  spec.address = core::read_nats_url(NatsServer::shared().url()).value();
  spec.stream = stream;
  spec.durable = kDurable;
  spec.prefetch = 1'000;
  spec.declare = true;
  spec.ack_wait = 2s;
  return spec;
}

// Connects, and waits until what is there has come.
void wait_until_nats_has_brought(Source& source) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (bool told = false; std::chrono::steady_clock::now() < end;) {
    ASSERT_TRUE(source.receive({0, 1}).has_value());
    pollfd entry{source.wakeup().fd, POLLIN, 0};
    if (::poll(&entry, 1, told ? 150 : 1'000) > 0) {
      told = true;
    } else if (told) {
      break;
    }
  }
}

class NatsPlace final : public SourcePlace {
 public:
  explicit NatsPlace(const std::string& retention)
      : stream_(NatsServer::shared().new_stream(",\"retention\":\"" + retention + "\"")) {}
  ~NatsPlace() override { NatsServer::shared().delete_stream(stream_); }

  void add(const std::vector<Bytes>& payloads) override {
    added_ = added_ || !payloads.empty();
    NatsServer::shared().publish_bodies(stream_, payloads);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto source = nats::make_nats_source({nats_spec_for(stream_), false});
    if (added_) wait_until_nats_has_brought(*source);
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  const std::string stream_;
  bool added_ = false;
};

SourceCase nats_case(const std::string& retention) {
  return {"nats_" + retention,
          [retention] { return std::unique_ptr<SourcePlace>(new NatsPlace(retention)); }};
}

INSTANTIATE_TEST_SUITE_P(Nats, SourceSuite,
                         testing::Values(nats_case("limits"), nats_case("workqueue")),
                         testing::PrintToStringParamName());

class NatsConsumer : public Receiver {
 public:
  explicit NatsConsumer(core::NatsSpec spec, bool in_order = false)
      : Receiver(nats::make_nats_source({std::move(spec), true, in_order}), 60s) {}

  // The first thing that goes wrong for good.
  Error failure_of() {
    Error error;
    test::comes_true([&] {
      const auto received = source().receive({});
      if (received || received.error().kind != ErrorKind::kRejected) return false;
      error = received.error();
      return true;
    });
    return error;
  }
  // Until it says so; what it brings meanwhile is let go of.
  bool tells_of(const std::string& words) {
    return test::comes_true([&] {
      const auto received = source().receive({});
      if (!received) return false;
      return std::ranges::any_of(received->notices, [&](const std::string& notice) {
        return notice.find(words) != std::string::npos;
      });
    });
  }
};

std::string stream_of(std::size_t messages, const std::string& more = {}) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream(more);
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < messages; ++i) bodies.push_back(fmt::format("{{\"n\":{}}}", i));
  server.publish_bodies(stream, bodies);
  return stream;
}

TEST(NatsSource, ASlowMessageKeepsNoPlaceButItsOwn) {
  auto spec = nats_spec_for(stream_of(40));
  spec.prefetch = 3;
  NatsConsumer consumer(spec);
  const auto slow = consumer.receive(1);
  ASSERT_EQ(slow.size(), 1U);
  for (int i = 0; i < 39; ++i) {
    const auto next = consumer.receive(1);
    ASSERT_EQ(next.size(), 1U) << i << ": acknowledged though it stands behind an open one";
    consumer.settle(next);
  }
  consumer.settle(slow);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kDurable).all_done());
}

TEST(NatsSource, ThePrefetchIsTheMostThatIsOut) {
  auto spec = nats_spec_for(stream_of(10));
  spec.prefetch = 4;
  NatsConsumer consumer(spec);
  EXPECT_EQ(consumer.receive(4).size(), 4U);
  EXPECT_EQ(NatsServer::shared().counts(spec.stream, kDurable).pending, 6) << "they wait there";
  EXPECT_TRUE(consumer.receive(1, 50ms).empty());
}

// It would only be given back at the close, and the server counts that.
TEST(NatsSource, NothingIsAskedForWhileARunDrains) {
  auto spec = nats_spec_for(stream_of(10));
  spec.prefetch = 4;
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(4);
  ASSERT_EQ(taken.size(), 4U);
  consumer.source().end_intake();
  consumer.settle(taken);
  const auto& server = NatsServer::shared();
  EXPECT_TRUE(
      test::comes_true([&] { return server.counts(spec.stream, kDurable).ack_pending == 0; }));
  EXPECT_TRUE(consumer.receive(1, 300ms).empty());
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.counts(spec.stream, kDurable).pending, 6);
}

// Longer than the server waits for an acknowledgement: it would bring it again.
TEST(NatsSource, WhatIsInHandIsRenewed) {
  auto spec = nats_spec_for(stream_of(2));
  spec.ack_wait = 1s;
  const auto& server = NatsServer::shared();
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(2);
  ASSERT_EQ(taken.size(), 2U);
  // Another message that nobody renews comes again meanwhile, and again.
  const std::string unrenewed = stream_of(1);
  {
    auto other = nats_spec_for(unrenewed);
    other.ack_wait = 1s;
    NatsConsumer dies(other);
    ASSERT_EQ(dies.receive(1).size(), 1U);
  }
  auto other = nats_spec_for(unrenewed);
  for (int i = 0; i < 3; ++i) {
    NatsConsumer dies(other);
    ASSERT_EQ(dies.receive(1).size(), 1U) << i;
  }
  EXPECT_TRUE(consumer.receive(1, 50ms).empty());
  EXPECT_EQ(server.counts(spec.stream, kDurable).ack_pending, 2);
  EXPECT_TRUE(std::ranges::none_of(consumer.source().figures(), [](const SourceFigure& figure) {
    return figure.name == "redelivered";
  }));
  consumer.settle(taken);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(server.counts(spec.stream, kDurable).all_done());
}

// A backoff takes the place of ack_wait, also where it is shorter.
TEST(NatsSource, ABackoffOfTheConsumerIsKeptToo) {
  const std::string stream = stream_of(1);
  NatsServer::shared().make_consumer(
      stream, kDurable,
      R"(,"ack_wait":60000000000,"max_deliver":5,"backoff":[600000000,700000000])");
  auto spec = nats_spec_for(stream);
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(1);
  ASSERT_EQ(taken.size(), 1U);
  const std::string probe = stream_of(1);
  NatsServer::shared().make_consumer(probe, kDurable,
                                     R"(,"max_deliver":9,"backoff":[600000000,700000000])");
  for (int i = 0; i < 4; ++i) {
    NatsConsumer dies(nats_spec_for(probe));
    ASSERT_EQ(dies.receive(1).size(), 1U) << i;
  }
  EXPECT_TRUE(consumer.receive(1, 50ms).empty()) << "brought again while it is in hand";
  consumer.settle(taken);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(NatsServer::shared().counts(stream, kDurable).all_done());
}

TEST(NatsSource, WhatIsReleasedIsNotCountedByTheServer) {
  const auto spec = nats_spec_for(stream_of(1));
  NatsConsumer consumer(spec);
  for (int i = 0; i < 5; ++i) {
    const auto taken = consumer.receive(1);
    ASSERT_EQ(taken.size(), 1U) << i;
    consumer.settle(taken, Settlement::Kind::kRelease);
  }
  EXPECT_TRUE(std::ranges::none_of(consumer.source().figures(), [](const SourceFigure& figure) {
    return figure.name == "redelivered";
  }));
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  NatsConsumer next(spec);
  ASSERT_EQ(next.receive(1).size(), 1U);
  const auto figures = next.source().figures();
  const auto redelivered = std::ranges::find(figures, "redelivered", &SourceFigure::name);
  ASSERT_NE(redelivered, figures.end()) << "by the close";
  EXPECT_EQ(redelivered->value, 1);
}

// The process that had it in hand may have died of it.
TEST(NatsSource, ARedeliveredArrivalIsSuspectAndANewOneIsNot) {
  const auto spec = nats_spec_for(stream_of(2));
  {
    NatsConsumer dies(spec);
    ASSERT_EQ(dies.receive(2).size(), 2U);
  }
  NatsServer::shared().publish_bodies(spec.stream, {"{}", "{}"});
  NatsConsumer next(spec);
  const auto arrivals = next.receive(4);
  ASSERT_EQ(arrivals.size(), 4U);
  for (const Arrival& arrival : arrivals) {
    const bool again =
        arrival.position == spec.stream + "-1" || arrival.position == spec.stream + "-2";
    EXPECT_EQ(arrival.suspect, again) << arrival.position;
  }
}

TEST(NatsSource, AMessageBringsItsIdItsSubjectAndItsHeaders) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  const NatsServer::Post post{.body = "{}",
                              .headers = {{"ce-id", "7"}, {"Content-Type", "application/json"}},
                              .id = "m-1",
                              .below = "eu"};
  server.publish(stream, {post, post, {.body = "{}"}});
  NatsConsumer consumer(nats_spec_for(stream));
  const auto arrivals = consumer.receive(2);
  ASSERT_EQ(arrivals.size(), 2U) << "the server drops the second one of its window";
  EXPECT_EQ(arrivals[0].broker_key, "m-1");
  EXPECT_EQ(arrivals[0].content_type, "application/json");
  EXPECT_EQ(find_header(arrivals[0].headers, "ce-id"), "7");
  EXPECT_EQ(find_header(arrivals[0].headers, "nats-subject"), stream + ".eu");
  EXPECT_EQ(arrivals[0].partition, stream);
  EXPECT_EQ(arrivals[0].position, stream + "-1");
  EXPECT_TRUE(arrivals[0].broker_time.has_value());
  EXPECT_FALSE(arrivals[1].broker_key.has_value());
}

TEST(NatsSource, WhatIsMadeTakesItsSubjectAloneAndHasNoLimitOfDeliveries) {
  const auto& server = NatsServer::shared();
  const std::string stream = server.new_stream();
  server.publish(stream, {{.body = "a", .below = "us"}, {.body = "b", .below = "eu"}});
  auto spec = nats_spec_for(stream);
  spec.subject = stream + ".eu";
  NatsConsumer consumer(spec);
  const auto arrivals = consumer.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].payload, "b");
  EXPECT_EQ(server.setting(stream, kDurable, "max_deliver"), "-1");
  EXPECT_EQ(server.setting(stream, kDurable, "ack_policy"), "explicit");
}

TEST(NatsSource, ItTellsHowLateTheStreamCanBringAMessageAgain) {
  for (const bool limited : {false, true}) {
    const std::string stream = stream_of(1, limited ? R"(,"max_age":3600000000000)" : "");
    NatsConsumer consumer(nats_spec_for(stream));
    std::optional<Horizon> horizon;
    ASSERT_TRUE(test::comes_true([&] {
      auto received = consumer.source().receive({});
      if (received && received->horizon) horizon = received->horizon;
      return horizon.has_value();
    }));
    EXPECT_TRUE(horizon->known);
    EXPECT_EQ(horizon->longest, limited ? std::optional<milliseconds>(1h) : std::nullopt);
    EXPECT_NE(horizon->said.find(stream), std::string::npos) << horizon->said;
  }
}

TEST(NatsSource, OneThatIsThereIsTakenAsItIs) {
  const auto& server = NatsServer::shared();
  const std::string stream = stream_of(1);
  server.make_consumer(stream, kDurable, R"(,"ack_wait":45000000000,"max_deliver":7)");
  NatsConsumer consumer(nats_spec_for(stream));
  EXPECT_TRUE(consumer.tells_of("max_deliver 7"));
  EXPECT_EQ(server.setting(stream, kDurable, "ack_wait"), "45000000000");
  EXPECT_EQ(server.setting(stream, kDurable, "max_deliver"), "7");
}

TEST(NatsSource, WhatKeepsNothingThatIsNotDoneIsRefused) {
  const auto& server = NatsServer::shared();
  const std::string stream = stream_of(1);
  server.make_consumer(stream, "all", R"(,"ack_policy":"all")");
  server.make_consumer(stream, "pushed", R"(,"deliver_subject":"elsewhere")");
  for (const char* durable : {"all", "pushed"}) {
    auto spec = nats_spec_for(stream);
    spec.durable = durable;
    EXPECT_EQ(NatsConsumer(spec).failure_of().code, "R386") << durable;
  }
}

TEST(NatsSource, WhatIsNotThereIsOneErrorWithItsFix) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for("no_such_stream");
  const Error no_stream = NatsConsumer(spec).failure_of();
  EXPECT_EQ(no_stream.code, "R384");
  EXPECT_NE(no_stream.message.find("no_such_stream"), std::string::npos) << no_stream.message;
  EXPECT_NE(no_stream.hint.find("nats stream add"), std::string::npos) << no_stream.hint;
  spec = nats_spec_for(stream_of(1));
  spec.declare = false;
  const Error no_consumer = NatsConsumer(spec).failure_of();
  EXPECT_EQ(no_consumer.code, "R384");
  EXPECT_NE(no_consumer.hint.find("declare"), std::string::npos) << no_consumer.hint;
  const auto as = [&](const char* account) {
    auto one = nats_spec_for(spec.stream);
    one.address = core::read_nats_url(server.url(account)).value();
    return NatsConsumer(one).failure_of().code;
  };
  EXPECT_EQ(as("owner:wrong"), "R381");
  EXPECT_EQ(as("bare:right"), "R383");
  EXPECT_EQ(as("reader:right"), "R385");
}

// The server refuses them without an answer.
TEST(NatsSource, ARightThatIsMissingEndsItThoughNobodyAnswers) {
  const auto& server = NatsServer::shared();
  const auto spec_of = [&](const char* account) {
    auto spec = nats_spec_for(stream_of(1));
    server.make_consumer(spec.stream, kDurable);
    spec.address = core::read_nats_url(server.url(account)).value();
    return spec;
  };
  const Error no_messages = NatsConsumer(spec_of("finder:right")).failure_of();
  EXPECT_EQ(no_messages.code, "R385");
  EXPECT_NE(no_messages.message.find("MSG.NEXT"), std::string::npos) << no_messages.message;
  NatsConsumer taker(spec_of("taker:right"));
  taker.settle(taker.receive(1));
  const Error no_acks = taker.failure_of();
  EXPECT_EQ(no_acks.code, "R385");
  EXPECT_NE(no_acks.message.find("$JS.ACK"), std::string::npos) << no_acks.message;
  // How long the stream keeps messages is the one thing that a reader need not know.
  NatsConsumer plain(spec_of("plain:right"));
  const auto arrivals = plain.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  plain.settle(arrivals);
  EXPECT_TRUE(plain.source().close(60s).has_value());
}

// Made anew it would bring all of the stream again.
TEST(NatsSource, AConsumerThatIsDeletedIsNotMadeAgain) {
  const auto& server = NatsServer::shared();
  const auto spec = nats_spec_for(stream_of(3));
  NatsConsumer consumer(spec);
  consumer.settle(consumer.receive(3));
  server.delete_consumer(spec.stream, kDurable);
  EXPECT_EQ(consumer.failure_of().code, "R384");
  EXPECT_EQ(server.counts(spec.stream, kDurable).pending, -1);
}

// All of the prefetch is in hand, so that no request says that the consumer is gone. Its messages
// have the same places in the stream.
TEST(NatsSource, AConsumerThatIsMadeAnewIsAnotherGeneration) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for(stream_of(3));
  spec.prefetch = 3;
  spec.ack_wait = 1s;
  NatsConsumer consumer(spec);
  const auto before = consumer.receive(3);
  ASSERT_EQ(before.size(), 3U);
  server.delete_consumer(spec.stream, kDurable);
  server.make_consumer(spec.stream, kDurable);
  const auto after = consumer.receive(3);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_NE(after[0].tag.generation, before[0].tag.generation);
  consumer.settle(before);
  consumer.settle({after.begin(), after.begin() + 1});
  EXPECT_TRUE(
      test::comes_true([&] { return server.counts(spec.stream, kDurable).ack_pending <= 2; }));
  EXPECT_EQ(server.counts(spec.stream, kDurable).ack_pending, 2);
  consumer.settle({after.begin() + 1, after.end()});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(server.counts(spec.stream, kDurable).all_done());
}

// What was settled after the connection was lost comes again, and is settled there.
TEST(NatsSource, AConnectionThatIsCutIsAnotherGeneration) {
  test::TcpProxy proxy(NatsServer::shared().port());
  auto spec = nats_spec_for(stream_of(20));
  spec.address.nodes[0].port = static_cast<unsigned>(proxy.port());
  NatsConsumer consumer(spec);
  const auto before = consumer.receive(20);
  ASSERT_EQ(before.size(), 20U);
  proxy.cut_all();
  std::set<Bytes> again;
  std::vector<Arrival> after;
  ASSERT_TRUE(test::comes_true([&] {
    for (const Arrival& arrival : consumer.receive(1, 100ms)) {
      again.insert(arrival.payload);
      after.push_back(arrival);
    }
    return again.size() == 20;
  }));
  EXPECT_NE(after[0].tag.generation, before[0].tag.generation);
  consumer.settle(before);
  // Acknowledgements go out in the order in which they were settled.
  const auto ack_pending = [&] {
    return NatsServer::shared().counts(spec.stream, kDurable).ack_pending;
  };
  consumer.settle({after.begin(), after.begin() + 1});
  EXPECT_TRUE(test::comes_true([&] { return ack_pending() <= 19; }));
  EXPECT_EQ(ack_pending(), 19) << "void";
  consumer.settle({after.begin() + 1, after.end()});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kDurable).all_done());
}

// Else what a dead process had in hand comes after all that is new.
TEST(NatsSource, InOrderWhatIsNewDoesNotOvertakeWhatComesAgain) {
  for (const bool in_order : {false, true}) {
    auto spec = nats_spec_for(stream_of(12));
    spec.prefetch = 5;
    // Without an order new messages have to come first, however slowly the next one connects.
    if (!in_order) spec.ack_wait = 10s;
    {
      NatsConsumer dies(spec);
      ASSERT_EQ(dies.receive(5).size(), 5U);
    }
    spec.prefetch = 100;
    NatsConsumer next(spec, in_order);
    const auto arrivals = next.receive(12);
    ASSERT_EQ(arrivals.size(), 12U);
    EXPECT_EQ(arrivals[0].position == spec.stream + "-1", in_order) << arrivals[0].position;
    const bool sorted = std::ranges::is_sorted(arrivals, {}, &Arrival::broker_time);
    EXPECT_EQ(sorted, in_order);
    next.settle(arrivals);
    EXPECT_TRUE(next.source().close(60s).has_value());
    EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kDurable).all_done());
  }
}

// The server knows nothing of it, and gives the next messages to the request that is left there.
TEST(NatsSource, InOrderARequestOfAConnectionThatBrokeUnnoticedIsWaitedFor) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for(stream_of(0));
  server.make_consumer(spec.stream, kDurable,
                       R"(,"ack_wait":1000000000,"max_expires":3000000000,"max_batch":2)");
  test::TcpProxy proxy(server.port());
  auto broken = spec;
  broken.address.nodes[0].port = static_cast<unsigned>(proxy.port());
  auto dies = std::make_unique<NatsConsumer>(broken, true);
  ASSERT_TRUE(dies->source().receive({}).has_value());
  ASSERT_TRUE(test::comes_true([&] { return server.counts(spec.stream, kDurable).waiting == 1; }));
  proxy.inject({.heard = test::TcpProxy::Side::kServer,
                .text = "MSG ",
                .then = test::TcpProxy::Then::kStall});
  NatsConsumer next(spec, true);
  ASSERT_TRUE(next.source().receive({}).has_value());
  ASSERT_TRUE(test::comes_true([&] { return !next.source().figures().empty(); }));
  server.publish_bodies(spec.stream, {"1", "2", "3", "4"});
  const auto arrivals = next.receive(4);
  ASSERT_EQ(arrivals.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(arrivals, {}, &Arrival::payload));
}

TEST(NatsSource, TwoMembersShareWhatThereIs) {
  const auto spec = nats_spec_for(stream_of(1));
  NatsConsumer first(spec), second(spec);
  EXPECT_EQ(first.receive(1).size(), 1U);
  EXPECT_TRUE(second.receive(1, 100ms).empty());
  std::vector<std::string> bodies(2'000, "{}");
  NatsServer::shared().publish_bodies(spec.stream, bodies);
  std::size_t of_first = 0, of_second = 0;
  EXPECT_TRUE(test::comes_true([&] {
    const auto take = [](NatsConsumer& from, std::size_t& count) {
      const auto taken = from.receive(1, 10ms);
      count += taken.size();
      from.settle(taken);
    };
    take(first, of_first);
    take(second, of_second);
    return of_first + of_second == bodies.size();
  }));
  EXPECT_GT(of_first, 0U);
  EXPECT_GT(of_second, 0U);
}

TEST(NatsSource, AFileOfCredentialsThatIsNotThereIsNamed) {
  auto spec = nats_spec_for(stream_of(1));
  spec.credentials = "/not/there.creds";
  const Error error = NatsConsumer(spec).failure_of();
  EXPECT_EQ(error.code, "R381");
  EXPECT_NE(error.message.find("/not/there.creds"), std::string::npos) << error.message;
}

// One test: it has a server of its own.
TEST(NatsTls, MessagesComeWhereTheCertificateIsGoodAndNowhereElse) {
  const test::TlsIdentity identity("DNS:localhost");
  const NatsServer server({.certificate = identity.certificate(), .key = identity.private_key()});
  const std::string stream = server.new_stream();
  server.publish_bodies(stream, {"{}", Bytes(300'000, 'x')});
  const auto spec_at = [&](const std::string& scheme, const std::string& host,
                           const std::string& ca) {
    auto spec = nats_spec_for(stream);
    spec.address =
        core::read_nats_url(fmt::format("{}://owner:right@{}:{}", scheme, host, server.port()))
            .value();
    spec.tls_ca = ca;
    return spec;
  };
  const std::string ca = server.certificate_file();
  EXPECT_EQ(NatsConsumer(spec_at("tls", "localhost", {})).failure_of().code, "R382");
  EXPECT_EQ(NatsConsumer(spec_at("tls", "127.0.0.1", ca)).failure_of().code, "R382")
      << "it is for another name";
  EXPECT_EQ(NatsConsumer(spec_at("tls", "localhost", "/not/there")).failure_of().code, "R382");
  EXPECT_EQ(NatsConsumer(spec_at("nats", "localhost", {})).failure_of().code, "R382")
      << "the server speaks nothing else";
  auto plain = spec_at("tls", "localhost", ca);
  plain.address.nodes[0].port = static_cast<unsigned>(NatsServer::shared().port());
  EXPECT_EQ(NatsConsumer(plain).failure_of().code, "R382") << "a server without TLS";

  NatsConsumer consumer(spec_at("tls", "localhost", ca));
  const auto arrivals = consumer.receive(2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[1].payload.size(), 300'000U);
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(server.counts(stream, kDurable).all_done());
}

// A server that greets and then stands still: cnats waits for the rest of the handshake for ever.
TEST(NatsTls, AHandshakeThatStandsStillHoldsUpNoClose) {
  const test::TlsIdentity identity("DNS:localhost");
  const NatsServer server({.certificate = identity.certificate(), .key = identity.private_key()});
  const std::string stream = server.new_stream();
  test::TcpProxy proxy(server.port());
  const auto still = proxy.inject({.heard = test::TcpProxy::Side::kServer,
                                   .text = "INFO",
                                   .then = test::TcpProxy::Then::kStall,
                                   .times = 100});
  auto spec = nats_spec_for(stream);
  spec.address =
      core::read_nats_url(fmt::format("tls://owner:right@localhost:{}", proxy.port())).value();
  spec.tls_ca = server.certificate_file();
  for (const bool closes : {true, false}) {
    NatsConsumer consumer(spec);
    ASSERT_TRUE(consumer.source().receive({}).has_value());
    ASSERT_TRUE(proxy.wait_fired(still, closes ? 1 : 2));
    if (closes) {
      EXPECT_TRUE(consumer.source().close(300ms).has_value());
    }
  }
  // It is given up by itself as well.
  const auto look = nats::look_at_consumer(spec);
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().code, "R380");
}

TEST(NatsLook, TellsWhatTheServerHas) {
  const auto& server = NatsServer::shared();
  const std::string stream = stream_of(3, R"(,"max_age":3600000000000)");
  const auto spec = nats_spec_for(stream);
  auto look = nats::look_at_consumer(spec);
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_FALSE(look->there);
  server.make_consumer(stream, kDurable, R"(,"ack_wait":45000000000,"max_deliver":7)");
  look = nats::look_at_consumer(spec);
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_TRUE(look->there);
  EXPECT_EQ(look->waiting, 3);
  EXPECT_EQ(look->max_deliver, 7);
  EXPECT_EQ(look->shortest_wait, 45s);
  EXPECT_EQ(look->max_age, 3'600s);
  EXPECT_EQ(look->replicas, 1);
  EXPECT_FALSE(look->in_memory);
  EXPECT_GT(look->duplicates.value_or(0s), 0s);
  EXPECT_EQ(server.counts(stream, kDurable).pending, 3) << "nothing was taken";
}

}  // namespace
}  // namespace semel::conformance
