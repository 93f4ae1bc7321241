// NATS consumers, rights and connections that do not suit a source, and the findings about them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tests/conformance/nats_consumer.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tls.h"

namespace semel::conformance {
namespace {

using test::NatsServer;

TEST(NatsConnection, WhatIsNotThereIsOneErrorWithItsFix) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for("no_such_stream");
  const Error no_stream = NatsConsumer(spec).failure_of();
  EXPECT_EQ(no_stream.code, "R384");
  EXPECT_NE(no_stream.message.find("no_such_stream"), std::string::npos) << no_stream.message;
  EXPECT_NE(no_stream.hint.find("nats stream add"), std::string::npos) << no_stream.hint;
  spec = nats_spec_for(nats_stream_of(1));
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
TEST(NatsConnection, ARightThatIsMissingEndsItThoughNobodyAnswers) {
  const auto& server = NatsServer::shared();
  const auto spec_of = [&](const char* account) {
    auto spec = nats_spec_for(nats_stream_of(1));
    server.make_consumer(spec.stream, kNatsDurable);
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

// A recreated consumer would deliver the whole stream again.
TEST(NatsConnection, AConsumerThatIsDeletedIsNotMadeAgain) {
  const auto& server = NatsServer::shared();
  const auto spec = nats_spec_for(nats_stream_of(3));
  NatsConsumer consumer(spec);
  consumer.settle(consumer.receive(3));
  server.delete_consumer(spec.stream, kNatsDurable);
  EXPECT_EQ(consumer.failure_of().code, "R384");
  EXPECT_EQ(server.counts(spec.stream, kNatsDurable).pending, -1);
}

// All of the prefetch is in hand, so that no request says that the consumer is gone. Its messages
// have the same places in the stream.
TEST(NatsConnection, AConsumerThatIsMadeAnewIsAnotherGeneration) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for(nats_stream_of(3));
  spec.prefetch = 3;
  spec.ack_wait = 1s;
  NatsConsumer consumer(spec);
  const auto before = consumer.receive(3);
  ASSERT_EQ(before.size(), 3U);
  server.delete_consumer(spec.stream, kNatsDurable);
  server.make_consumer(spec.stream, kNatsDurable);
  const auto after = consumer.receive(3);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_NE(after[0].tag.generation, before[0].tag.generation);
  consumer.settle(before);
  consumer.settle({after.begin(), after.begin() + 1});
  EXPECT_TRUE(
      test::comes_true([&] { return server.counts(spec.stream, kNatsDurable).ack_pending <= 2; }));
  EXPECT_EQ(server.counts(spec.stream, kNatsDurable).ack_pending, 2);
  consumer.settle({after.begin() + 1, after.end()});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(server.counts(spec.stream, kNatsDurable).all_done());
}

// A message settled after the connection was lost comes again, and is settled then.
TEST(NatsConnection, AConnectionThatIsCutIsAnotherGeneration) {
  test::TcpProxy proxy(NatsServer::shared().port());
  auto spec = nats_spec_for(nats_stream_of(20));
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
    return NatsServer::shared().counts(spec.stream, kNatsDurable).ack_pending;
  };
  consumer.settle({after.begin(), after.begin() + 1});
  EXPECT_TRUE(test::comes_true([&] { return ack_pending() <= 19; }));
  EXPECT_EQ(ack_pending(), 19) << "void";
  consumer.settle({after.begin() + 1, after.end()});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kNatsDurable).all_done());
}

// The server knows nothing of it, and gives the next messages to the request that is left there.
TEST(NatsConnection, InOrderARequestOfAConnectionThatBrokeUnnoticedIsWaitedFor) {
  const auto& server = NatsServer::shared();
  auto spec = nats_spec_for(nats_stream_of(0));
  server.make_consumer(spec.stream, kNatsDurable,
                       R"(,"ack_wait":1000000000,"max_expires":3000000000,"max_batch":2)");
  test::TcpProxy proxy(server.port());
  auto broken = spec;
  broken.address.nodes[0].port = static_cast<unsigned>(proxy.port());
  auto dies = std::make_unique<NatsConsumer>(broken, true);
  ASSERT_TRUE(dies->source().receive({}).has_value());
  ASSERT_TRUE(
      test::comes_true([&] { return server.counts(spec.stream, kNatsDurable).waiting == 1; }));
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

TEST(NatsConnection, TellsNoLagWhileItsServerIsAway) {
  test::TcpProxy proxy(NatsServer::shared().port());
  auto spec = nats_spec_for(nats_stream_of(3));
  spec.address.nodes[0].port = static_cast<unsigned>(proxy.port());
  NatsConsumer consumer(spec);
  ASSERT_EQ(consumer.receive(3).size(), 3U);
  EXPECT_EQ(lag_told_by(consumer.source()), 3) << "they are in hand";
  proxy.refuse(true);
  proxy.cut_all();
  EXPECT_TRUE(test::comes_true([&] { return !consumer.source().receive({}).has_value(); }));
  EXPECT_EQ(lag_told_by(consumer.source()), std::nullopt);
}

TEST(NatsConnection, AFileOfCredentialsThatIsNotThereIsNamed) {
  auto spec = nats_spec_for(nats_stream_of(1));
  spec.credentials = "/not/there.creds";
  const Error error = NatsConsumer(spec).failure_of();
  EXPECT_EQ(error.code, "R381");
  EXPECT_NE(error.message.find("/not/there.creds"), std::string::npos) << error.message;
}

// One test only, because it starts a server of its own.
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
  EXPECT_TRUE(server.counts(stream, kNatsDurable).all_done());
}

// A server that greets and then stalls: cnats waits for the rest of the handshake forever.
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
  const std::string stream = nats_stream_of(3, R"(,"max_age":3600000000000)");
  const auto spec = nats_spec_for(stream);
  auto look = nats::look_at_consumer(spec);
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_FALSE(look->there);
  server.make_consumer(stream, kNatsDurable, R"(,"ack_wait":45000000000,"max_deliver":7)");
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
  EXPECT_EQ(server.counts(stream, kNatsDurable).pending, 3) << "nothing was taken";
}

// A run of this user consumes all the same.
TEST(NatsLook, AUserWhoMayNotAskAboutTheStreamIsToldOfTheConsumer) {
  const std::string stream = nats_stream_of(3);
  NatsServer::shared().make_consumer(stream, kNatsDurable, "");
  auto spec = nats_spec_for(stream);
  spec.address = core::read_nats_url(
                     fmt::format("nats://plain:right@127.0.0.1:{}", NatsServer::shared().port()))
                     .value();
  const auto look = nats::look_at_consumer(spec);
  ASSERT_TRUE(look) << look.error().message;
  ASSERT_TRUE(look->stream_hidden);
  EXPECT_EQ(look->stream_hidden->code, "R385");
  EXPECT_EQ(look->waiting, 3);
}

}  // namespace
}  // namespace semel::conformance
