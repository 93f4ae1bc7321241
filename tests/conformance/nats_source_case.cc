// NATS joins the source suite, on a real server; plus tests of features that only NATS has.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/conformance/nats_consumer.h"

namespace semel::conformance {
namespace {

using test::NatsServer;

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
    auto spec = nats_spec_for(stream_);
    if (!dies_) spec.ack_wait = 60s;  // longer than any pause of this machine
    auto source = nats::make_nats_source({std::move(spec), false});
    if (added_) wait_until_it_has_come(*source);
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }
  void expect_death() override { dies_ = true; }

 private:
  const std::string stream_;
  bool added_ = false;
  bool dies_ = false;
};

SourceCase nats_case(const std::string& retention) {
  return {"nats_" + retention,
          [retention] { return std::unique_ptr<SourcePlace>(new NatsPlace(retention)); }};
}

INSTANTIATE_TEST_SUITE_P(Nats, SourceSuite,
                         testing::Values(nats_case("limits"), nats_case("workqueue")),
                         testing::PrintToStringParamName());

TEST(NatsSource, ASlowMessageKeepsNoPlaceButItsOwn) {
  auto spec = nats_spec_for(nats_stream_of(40));
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
  EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kNatsDurable).all_done());
}

TEST(NatsSource, ThePrefetchIsTheMostThatIsOut) {
  auto spec = nats_spec_for(nats_stream_of(10));
  spec.prefetch = 4;
  NatsConsumer consumer(spec);
  EXPECT_EQ(consumer.receive(4).size(), 4U);
  EXPECT_EQ(NatsServer::shared().counts(spec.stream, kNatsDurable).pending, 6) << "they wait there";
  EXPECT_TRUE(consumer.receive(1, 50ms).empty());
}

// It would only be given back at the close, and the server counts that.
TEST(NatsSource, NothingIsAskedForWhileARunDrains) {
  auto spec = nats_spec_for(nats_stream_of(10));
  spec.prefetch = 4;
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(4);
  ASSERT_EQ(taken.size(), 4U);
  consumer.source().end_intake();
  consumer.settle(taken);
  const auto& server = NatsServer::shared();
  EXPECT_TRUE(
      test::comes_true([&] { return server.counts(spec.stream, kNatsDurable).ack_pending == 0; }));
  EXPECT_TRUE(consumer.receive(1, 300ms).empty());
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.counts(spec.stream, kNatsDurable).pending, 6);
}

// Longer than the server waits for an acknowledgement: it would bring it again.
TEST(NatsSource, WhatIsInHandIsRenewed) {
  auto spec = nats_spec_for(nats_stream_of(2));
  spec.ack_wait = 1s;
  const auto& server = NatsServer::shared();
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(2);
  ASSERT_EQ(taken.size(), 2U);
  // Another message that nobody renews comes again meanwhile, and again.
  const std::string unrenewed = nats_stream_of(1);
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
  EXPECT_EQ(server.counts(spec.stream, kNatsDurable).ack_pending, 2);
  EXPECT_TRUE(std::ranges::none_of(consumer.source().figures(), [](const SourceFigure& figure) {
    return figure.name == "redelivered";
  }));
  consumer.settle(taken);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(server.counts(spec.stream, kNatsDurable).all_done());
}

// A backoff takes the place of ack_wait, also where it is shorter.
TEST(NatsSource, ABackoffOfTheConsumerIsKeptToo) {
  const std::string stream = nats_stream_of(1);
  NatsServer::shared().make_consumer(
      stream, kNatsDurable,
      R"(,"ack_wait":60000000000,"max_deliver":5,"backoff":[600000000,700000000])");
  auto spec = nats_spec_for(stream);
  NatsConsumer consumer(spec);
  const auto taken = consumer.receive(1);
  ASSERT_EQ(taken.size(), 1U);
  const std::string probe = nats_stream_of(1);
  NatsServer::shared().make_consumer(probe, kNatsDurable,
                                     R"(,"max_deliver":9,"backoff":[600000000,700000000])");
  for (int i = 0; i < 4; ++i) {
    NatsConsumer dies(nats_spec_for(probe));
    ASSERT_EQ(dies.receive(1).size(), 1U) << i;
  }
  EXPECT_TRUE(consumer.receive(1, 50ms).empty()) << "brought again while it is in hand";
  consumer.settle(taken);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_TRUE(NatsServer::shared().counts(stream, kNatsDurable).all_done());
}

TEST(NatsSource, WhatIsReleasedIsNotCountedByTheServer) {
  const auto spec = nats_spec_for(nats_stream_of(1));
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

TEST(NatsSource, TheAgeOfTheOldestInHandIsTold) {
  NatsConsumer consumer(nats_spec_for(nats_stream_of(2)));
  const auto told = [&] {
    return std::ranges::any_of(consumer.source().figures(), [](const SourceFigure& figure) {
      return figure.name == "oldest_seconds";
    });
  };
  const auto taken = consumer.receive(2);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_TRUE(told());
  consumer.settle(taken);
  EXPECT_FALSE(told()) << "nothing waits";
}

// The process that had it in hand may have died of it.
TEST(NatsSource, ARedeliveredArrivalIsSuspectAndANewOneIsNot) {
  const auto spec = nats_spec_for(nats_stream_of(2));
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
  EXPECT_EQ(server.setting(stream, kNatsDurable, "max_deliver"), "-1");
  EXPECT_EQ(server.setting(stream, kNatsDurable, "ack_policy"), "explicit");
}

TEST(NatsSource, ItTellsHowLateTheStreamCanBringAMessageAgain) {
  for (const bool limited : {false, true}) {
    const std::string stream = nats_stream_of(1, limited ? R"(,"max_age":3600000000000)" : "");
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
  const std::string stream = nats_stream_of(1);
  server.make_consumer(stream, kNatsDurable, R"(,"ack_wait":45000000000,"max_deliver":7)");
  NatsConsumer consumer(nats_spec_for(stream));
  EXPECT_TRUE(consumer.tells_of("max_deliver 7"));
  EXPECT_EQ(server.setting(stream, kNatsDurable, "ack_wait"), "45000000000");
  EXPECT_EQ(server.setting(stream, kNatsDurable, "max_deliver"), "7");
}

TEST(NatsSource, WhatKeepsNothingThatIsNotDoneIsRefused) {
  const auto& server = NatsServer::shared();
  const std::string stream = nats_stream_of(1);
  server.make_consumer(stream, "all", R"(,"ack_policy":"all")");
  server.make_consumer(stream, "pushed", R"(,"deliver_subject":"elsewhere")");
  for (const char* durable : {"all", "pushed"}) {
    auto spec = nats_spec_for(stream);
    spec.durable = durable;
    EXPECT_EQ(NatsConsumer(spec).failure_of().code, "R386") << durable;
  }
}

// Otherwise messages of a dead process come after all new ones.
TEST(NatsSource, InOrderWhatIsNewDoesNotOvertakeWhatComesAgain) {
  for (const bool in_order : {false, true}) {
    auto spec = nats_spec_for(nats_stream_of(12));
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
    EXPECT_TRUE(NatsServer::shared().counts(spec.stream, kNatsDurable).all_done());
  }
}

TEST(NatsSource, TwoMembersShareWhatThereIs) {
  const auto spec = nats_spec_for(nats_stream_of(1));
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

}  // namespace
}  // namespace semel::conformance
