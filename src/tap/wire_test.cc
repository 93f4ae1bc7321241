// A line is parsed as it was written, and garbage is refused, not guessed at.
#include "tap/wire.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/builders.h"

namespace semel::tap {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::string_view without_end(const std::string& line) {
  EXPECT_TRUE(line.ends_with('\n'));
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  return std::string_view(line).substr(0, line.size() - 1);
}

template <class T>
T heard(const std::string& line) {
  LineParser parser;
  auto said = parser.said(without_end(line));
  EXPECT_TRUE(said) << line;
  EXPECT_TRUE(said && std::holds_alternative<T>(*said)) << line;
  return said && std::holds_alternative<T>(*said) ? std::get<T>(std::move(*said)) : T();
}

Bytes some_bytes(std::mt19937_64& random) {
  const bool any = random() % 2 == 0;
  Bytes bytes(random() % 40, '\0');
  for (char& byte : bytes) byte = static_cast<char>(any ? random() % 256 : ' ' + random() % 90);
  return bytes;
}

TEST(Wire, ARequestIsHeardAsItWasMade) {
  LineParser parser;
  Request request;
  request.consumer = "pay\"ments";
  request.outcomes = {Outcome::Kind::kDuplicate, Outcome::Kind::kConflict};
  request.payload = true;
  const auto heard = parser.request(without_end(line_of(request)));
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(heard->consumer, request.consumer);
  EXPECT_EQ(heard->outcomes, request.outcomes);
  EXPECT_TRUE(heard->payload);
}

TEST(Wire, ARequestWantsItsConsumerAndItsOutcomes) {
  Request all{"payments"};
  Request some{"payments", {Outcome::Kind::kDead}};
  EXPECT_TRUE(all.wants("payments", Outcome::Kind::kDone));
  EXPECT_FALSE(all.wants("payment", Outcome::Kind::kDone));
  EXPECT_TRUE(some.wants("payments", Outcome::Kind::kDead));
  EXPECT_FALSE(some.wants("payments", Outcome::Kind::kDone));
}

TEST(Wire, WhatIsNoRequestIsRefused) {
  LineParser parser;
  for (const auto* line :
       {"", "GET / HTTP/1.1", "{}", "[]", "null", "{\"semel_tap\":\"1\",\"consumer\":\"a\"}",
        "{\"semel_tap\":1}", "{\"semel_tap\":1,\"consumer\":7}",
        "{\"semel_tap\":2,\"consumer\":\"a\"}",
        "{\"semel_tap\":1,\"consumer\":\"a\",\"outcomes\":[\"well\"]}",
        "{\"semel_tap\":1,\"consumer\":\"a\",\"outcomes\":[1]}",
        "{\"semel_tap\":1,\"consumer\":\"\xff\"}"}) {
    EXPECT_FALSE(parser.request(line)) << line;
  }
  EXPECT_TRUE(parser.request("{\"semel_tap\":1,\"consumer\":\"a\",\"unknown\":1}"));
}

TEST(Wire, HelloRefusalGapAndGoodbyeAreTold) {
  const Hello hello = heard<Hello>(line_of(Hello{4711, true}));
  EXPECT_EQ(hello.pid, 4711);
  EXPECT_TRUE(hello.has_consumer);
  EXPECT_FALSE(heard<Hello>(line_of(Hello{1, false})).has_consumer);
  EXPECT_EQ(heard<Refusal>(line_of(Refusal{"so\nnot"})).why, "so\nnot");
  EXPECT_EQ(heard<NotShown>(line_of(NotShown{12})).count, 12U);
  heard<Goodbye>(line_of(Goodbye{}));
}

TEST(Wire, FiguresAreHeardAsTheyWere) {
  const Figures told{{{"payments", "kafka", {"lag", "orders-0", 17, ""}},
                      {"payments", "kafka", {"commit_errors", "", 1, "Broker: \"gone\"\n"}}}};
  const auto again = heard<Figures>(line_of(told));
  ASSERT_EQ(again.all.size(), 2U);
  EXPECT_EQ(again.all[0].consumer, "payments");
  EXPECT_EQ(again.all[0].source, "kafka");
  EXPECT_EQ(again.all[0].figure.partition, "orders-0");
  EXPECT_EQ(again.all[0].figure.value, 17);
  EXPECT_EQ(again.all[1].figure.text, "Broker: \"gone\"\n");
  EXPECT_TRUE(heard<Figures>(line_of(Figures())).all.empty());
  Request request;
  request.figures = true;
  LineParser parser;
  EXPECT_TRUE(parser.request(without_end(line_of(request)))->figures);
}

TEST(Wire, AnEndingIsHeardAsItWasWhateverItsBytes) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(seed);
    const Delivery delivery =
        test::make_delivery(ConsumerNumber{1}, some_bytes(random) + "k", some_bytes(random));
    Outcome outcome;
    outcome.kind = kAllOutcomes[random() % std::size(kAllOutcomes)];
    outcome.reason = "handler.native";
    outcome.error = random() % 2 == 0 ? "" : "no \"such\" account\n";
    outcome.attempt = static_cast<int>(random() % 5);
    outcome.delay = milliseconds(random() % 100);
    if (random() % 2 == 0) {
      outcome.completed_at = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'123));
    }
    const EndingView view = view_of("payments", delivery, outcome, nanoseconds(1'234));
    const auto event =
        heard<DeliveryEvent>(line_of(event_of(view, StoreTime(milliseconds(42)), true)));
    EXPECT_EQ(event.at, StoreTime(milliseconds(42)));
    EXPECT_EQ(event.consumer, "payments");
    EXPECT_EQ(event.key, delivery.message.key().text);
    EXPECT_EQ(event.payload, delivery.message.payload());
    EXPECT_EQ(event.outcome, outcome.kind);
    EXPECT_EQ(event.reason, outcome.reason);
    EXPECT_EQ(event.error, outcome.error);
    EXPECT_EQ(event.attempt, outcome.attempt);
    EXPECT_EQ(event.again_in, outcome.delay);
    EXPECT_EQ(event.completed_at, view.completed_at);
    EXPECT_EQ(event.took, nanoseconds(1'234));
    EXPECT_EQ(event.partition, delivery.arrival.partition);
    EXPECT_EQ(event.position, delivery.arrival.position);
  }
}

TEST(Wire, APayloadIsToldOnlyWhereItIsWantedAndNotTooLong) {
  EndingView view;
  view.payload = "secret";
  EXPECT_EQ(line_of(event_of(view, StoreTime{}, false)).find("secret"), std::string::npos);
  EXPECT_EQ(heard<DeliveryEvent>(line_of(event_of(view, StoreTime{}, false))).payload,
            std::nullopt);
  view.payload = "";
  EXPECT_EQ(heard<DeliveryEvent>(line_of(event_of(view, StoreTime{}, true))).payload, "");
  const std::string long_one(kLongestPayload, '\x01');
  view.payload = long_one;
  const std::string line = line_of(event_of(view, StoreTime{}, true));
  EXPECT_LE(line.size(), kLongestLine);
  EXPECT_EQ(heard<DeliveryEvent>(line).payload, long_one);
  const std::string too_long(kLongestPayload + 1, 'x');
  view.payload = too_long;
  const auto event = heard<DeliveryEvent>(line_of(event_of(view, StoreTime{}, true)));
  EXPECT_EQ(event.payload, std::nullopt);
  EXPECT_EQ(event.payload_too_long, kLongestPayload + 1);
}

TEST(Wire, ARefusedArrivalHasNoKeyAndNoTime) {
  Arrival arrival = test::make_arrival("junk", "payments.jsonl", "17");
  const auto event = heard<DeliveryEvent>(line_of(
      event_of(view_of("payments", arrival, "payload.invalid", "not JSON"), StoreTime{}, true)));
  EXPECT_EQ(event.key, std::nullopt);
  EXPECT_EQ(event.took, std::nullopt);
  EXPECT_EQ(event.outcome, Outcome::Kind::kDead);
  EXPECT_EQ(event.payload, "junk");
  EXPECT_EQ(event.position, "17");
}

TEST(Wire, WhatNoRunSaysIsRefused) {
  LineParser parser;
  for (const auto* line :
       {"", "hello", "{}", "[]", "{\"refused\":1}", "{\"not_shown\":-1}", "{\"not_shown\":\"1\"}",
        "{\"semel_tap\":1}", "{\"semel_tap\":2,\"pid\":1}", "{\"at\":1}",
        "{\"at\":1,\"outcome\":\"well\"}", "{\"outcome\":\"done\"}",
        "{\"at\":1,\"outcome\":\"done\",\"key\":1}",
        "{\"at\":1,\"outcome\":\"done\",\"key_base64\":\"*\"}",
        "{\"at\":1,\"outcome\":\"done\",\"attempt\":\"x\"}"}) {
    EXPECT_FALSE(parser.said(line)) << line;
  }
}

}  // namespace
}  // namespace semel::tap
