#include "traces/tracer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <semel/reason.h>

#include "tests/support/test_environment.h"
#include "traces/test_sink.h"

namespace semel::traces {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kParent = "00f067aa0ba902b7";

Headers traceparent(std::string_view flags) {
  return {{"traceparent",
           "00-" + std::string(kTrace) + "-" + std::string(kParent) + "-" + std::string(flags)}};
}

class TracerTest : public testing::Test {
 protected:
  explicit TracerTest(double sample = 1.0) : tracer_(spans_, {"shop", sample}, random_) {
    tracer_.on_consumer({"orders", {"kafka", "queue"}, "sql", std::nullopt});
  }

  std::shared_ptr<const DeliverySpan> start(const Headers& headers, BytesView key = "k-1",
                                            const std::string& consumer = "orders") {
    return tracer_.start_of(consumer)(test::make_parts(ConsumerNumber{3}, key).key, headers);
  }
  Delivery delivery(const Headers& headers, BytesView key = "k-1") {
    Message::Parts parts = test::make_parts(ConsumerNumber{3}, key, "{\"id\":\"k-1\"}");
    parts.headers = headers;
    parts.span = start(headers, key);
    Arrival arrival;
    arrival.partition = "new-orders-3";
    arrival.position = "new-orders-3-17";
    return {Message(std::move(parts)), std::move(arrival)};
  }
  Span ended(const Delivery& delivery, const Outcome& outcome) {
    tracer_.on_ended("orders", delivery, outcome, std::chrono::milliseconds(5));
    const auto all = spans_.all();
    EXPECT_FALSE(all.empty());
    return all.empty() ? Span() : all.back();
  }

  test::SeededRandom random_{1};
  KeptSpans spans_;
  Tracer tracer_;
};

class SamplingNone : public TracerTest {
 protected:
  SamplingNone() : TracerTest(0.0) {}
};

TEST_F(TracerTest, ContinuesTheTraceOfTheMessage) {
  const auto span = start(traceparent("01"));
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(hex_id(span->context.trace_id), kTrace);
  ASSERT_TRUE(span->parent);
  EXPECT_EQ(hex_id(*span->parent), kParent);
  EXPECT_NE(hex_id(span->context.span_id), kParent);
}

TEST_F(TracerTest, AMessageThatIsNotSampledIsNotTraced) {
  EXPECT_EQ(start(traceparent("00")), nullptr);
}

TEST_F(SamplingNone, OnlyWhatBringsASampledTraceIsTraced) {
  EXPECT_EQ(start({}), nullptr);
  EXPECT_EQ(start({{"traceparent", "no such thing"}}), nullptr);
  EXPECT_NE(start(traceparent("01")), nullptr);
  const Delivery untraced = delivery({});
  tracer_.on_ended("orders", untraced, {}, std::chrono::milliseconds(5));
  tracer_.on_held("orders", untraced);
  EXPECT_TRUE(spans_.all().empty());
}

TEST_F(TracerTest, DeliveriesOfOneMessageAreOneTrace) {
  const auto first = start({});
  const auto again = start({});
  ASSERT_TRUE(first != nullptr && again != nullptr);
  EXPECT_FALSE(first->parent);
  EXPECT_EQ(first->context.trace_id, again->context.trace_id);
  EXPECT_NE(first->context.span_id, again->context.span_id);
  EXPECT_NE(first->context.trace_id, start({}, "k-2")->context.trace_id);
  EXPECT_NE(first->context.trace_id, start({}, "k-1", "mails")->context.trace_id);
  Tracer other(spans_, {"other", 1.0}, random_);
  const auto elsewhere =
      other.start_of("orders")(test::make_parts(ConsumerNumber{3}, "k-1").key, {});
  EXPECT_NE(first->context.trace_id, elsewhere->context.trace_id) << "another service's";
}

TEST_F(TracerTest, SaysHowADeliveryEndedAndWhereItCameFrom) {
  Headers headers = traceparent("01");
  headers.push_back({"tracestate", "vendor=1"});
  const Delivery one = delivery(headers);
  Outcome outcome;
  outcome.attempt = 2;
  const Span span = ended(one, outcome);
  EXPECT_EQ(span.name, "process new-orders");
  EXPECT_EQ(span.kind, Span::Kind::kConsumer);
  EXPECT_EQ(span.context.span_id, one.message.span()->context.span_id);
  ASSERT_TRUE(span.parent);
  EXPECT_EQ(hex_id(*span.parent), kParent);
  EXPECT_EQ(span.trace_state, "vendor=1");
  EXPECT_EQ(span.end - span.begin, std::chrono::milliseconds(5));
  EXPECT_EQ(attribute(span, "messaging.system"), "kafka");
  EXPECT_EQ(attribute(span, "messaging.operation.type"), "process");
  EXPECT_EQ(attribute(span, "messaging.operation.name"), "process");
  EXPECT_EQ(attribute(span, "messaging.destination.name"), "new-orders");
  EXPECT_EQ(attribute(span, "messaging.destination.partition.id"), "3");
  EXPECT_EQ(attribute(span, "messaging.kafka.offset"), "17");
  EXPECT_EQ(attribute(span, "messaging.message.body.size"), "12");
  EXPECT_EQ(attribute(span, "semel.consumer"), "orders");
  EXPECT_EQ(attribute(span, "semel.outcome"), "done");
  EXPECT_EQ(attribute(span, "semel.attempt"), "2");
  EXPECT_EQ(attribute(span, "semel.key_id"), digest::hex(one.message.key().id.view()));
  EXPECT_EQ(span.error, "");
}

TEST_F(TracerTest, NeitherKeyNorErrorTextNorMadeUpReasonLeaves) {
  const Delivery one = delivery({}, "alice@example.com");
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDead;
  outcome.reason = "alice@example.com has no account";
  outcome.error = "alice@example.com";
  const Span span = ended(one, outcome);
  EXPECT_EQ(span.error, "other");
  EXPECT_EQ(attribute(span, "semel.reason"), "other");
  for (const Span::Attribute& each : span.attributes) {
    EXPECT_EQ(attribute(span, each.name).find("alice"), std::string::npos) << each.name;
  }
}

TEST_F(TracerTest, WhatFailedIsAnError) {
  const std::pair<Outcome::Kind, bool> cases[] = {
      {Outcome::Kind::kDone, false},      {Outcome::Kind::kDuplicate, false},
      {Outcome::Kind::kBusy, false},      {Outcome::Kind::kConflict, true},
      {Outcome::Kind::kRetry, true},      {Outcome::Kind::kDead, true},
      {Outcome::Kind::kDiscarded, false}, {Outcome::Kind::kParked, true}};
  for (const auto& [kind, error] : cases) {
    Outcome outcome;
    outcome.kind = kind;
    const Span span = ended(delivery({}), outcome);
    EXPECT_EQ(span.error, error ? to_string(kind) : "");
    EXPECT_EQ(attribute(span, "semel.outcome"), to_string(kind));
    EXPECT_EQ(attribute(span, "semel.attempt"), "(none)") << "no handler ran";
  }
}

// A delivery that is tried again in the same process ends more than once.
TEST_F(TracerTest, EndingAgainIsASpanOfItsOwnBelowTheFirst) {
  const Delivery one = delivery(traceparent("01"));
  Outcome away;
  away.kind = Outcome::Kind::kRetry;
  away.reason = reason::kStoreUnavailable;
  const Span first = ended(one, away);
  EXPECT_EQ(first.error, reason::kStoreUnavailable);
  const Span second = ended(one, {});
  EXPECT_NE(second.context.span_id, first.context.span_id);
  EXPECT_EQ(second.context.trace_id, first.context.trace_id);
  ASSERT_TRUE(second.parent);
  EXPECT_EQ(*second.parent, first.context.span_id);
}

TEST_F(TracerTest, WhatIsHeldSaysSo) {
  const Delivery one = delivery({});
  tracer_.on_held("orders", one);
  ASSERT_EQ(spans_.all().size(), 1U);
  EXPECT_EQ(attribute(spans_.all()[0], "semel.outcome"), "held");
  EXPECT_EQ(spans_.all()[0].error, "");
}

TEST_F(TracerTest, WhatIsRefusedIsTracedToo) {
  Arrival arrival;
  arrival.partition = "orders.jsonl";
  arrival.position = "0";
  arrival.source = 1;
  arrival.payload = "no JSON";
  arrival.headers = traceparent("01");
  tracer_.on_refused("orders", arrival, reason::kPayloadInvalid, "no JSON");
  arrival.headers = traceparent("00");
  tracer_.on_refused("orders", arrival, reason::kPayloadInvalid, "no JSON");
  const auto all = spans_.all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(hex_id(all[0].context.trace_id), kTrace);
  EXPECT_EQ(attribute(all[0], "messaging.system"), "queue");
  EXPECT_EQ(attribute(all[0], "messaging.destination.name"), "orders.jsonl");
  EXPECT_EQ(attribute(all[0], "semel.outcome"), "dead");
  EXPECT_EQ(all[0].error, reason::kPayloadInvalid);
}

}  // namespace
}  // namespace semel::traces
