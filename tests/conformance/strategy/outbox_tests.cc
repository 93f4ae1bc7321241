// Messages sent with a message's end: publications of its handler, and copies of its dead letters.
#include <algorithm>
#include <string>
#include <vector>

#include <semel/reason.h>

#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

using Kind = Outcome::Kind;
using test::StoreCall;
using test::When;

TEST_P(StrategySuite, WhatIsPublishedLeavesOnceTheWorkIsDone) {
  publish_to_relay();
  const auto one =
      strategy([this](const Message& message, Transaction* tx) -> std::optional<Verdict> {
        const Bytes& key = message.key().text;
        const bool has_no_effect = key == "k003" || (key == "k005" && runs(key) == 1);
        if (!has_no_effect) return std::nullopt;
        OutgoingMessage never;
        never.payload = "never";
        if (tx != nullptr) tx->publish("relay", never);
        return key == "k003" ? discard("no need") : retry("not yet");
      });
  deliver(*one, batch(keys(10)));
  deliver_held(*one);
  EXPECT_EQ(effects(), 9);
  auto out = sent();
  ASSERT_EQ(out.size(), 9U);
  std::ranges::sort(out, {}, [](const Arrival& arrival) { return arrival.payload; });
  for (const Arrival& arrival : out) {
    EXPECT_EQ(arrival.payload, "of " + arrival.key.value_or("none")) << "under its message's key";
  }
  EXPECT_EQ(out[3].key, "k004");
  EXPECT_EQ(out[4].key, "k005");
  deliver(*one, batch(keys(10)));
  const bool natural = GetParam().kind == StrategyKind::kNatural;
  EXPECT_EQ(count_sent(), natural ? 18U : 9U) << "duplicates publish nothing";
}

TEST_P(StrategySuite, SeveralOfOneMessageHaveKeysOfTheirOwn) {
  publish_to_relay();
  const auto one = strategy([](const Message&, Transaction*) -> std::optional<Verdict> {
    OutgoingMessage own;
    own.key = "own";
    return done({}, {{"relay", {}}, {"relay", {}}, {"relay", own}});
  });
  deliver(*one, batch({"k"}));
  std::vector<Bytes> found;
  for (const Arrival& arrival : sent()) found.push_back(arrival.key.value_or("none"));
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<Bytes>{"k", "k/2", "own"}));
}

TEST_P(StrategySuite, NoTwoMessagesPublishUnderOneKey) {
  publish_to_relay();
  const auto one = strategy([](const Message&, Transaction*) -> std::optional<Verdict> {
    return done({}, {{"relay", {}}, {"relay", {}}});
  });
  deliver(*one, batch({"orders/1", "orders/1/2"}));
  std::vector<Bytes> found;
  for (const Arrival& arrival : sent()) found.push_back(arrival.key.value_or("none"));
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (std::vector<Bytes>{"orders/1/1", "orders/1/2", "orders/1/2/1", "orders/1/2/2"}));
}

TEST_P(StrategySuite, ADestinationThatIsNotThereFailsTheMessage) {
  publish_to_relay();
  const auto one = strategy([](const Message&, Transaction*) -> std::optional<Verdict> {
    return done({}, {{"elsewhere", {}}});
  });
  const auto outcomes = process(*one, batch({"k"}));
  EXPECT_EQ(last(outcomes, "k").kind, Kind::kRetry);
  EXPECT_NE(last(outcomes, "k").error.find("elsewhere"), std::string::npos);
  EXPECT_NE(last(outcomes, "k").error.find("relay"), std::string::npos);
  EXPECT_EQ(count_sent(), 0U);
}

TEST_P(StrategySuite, ADoubtfulCommitSendsAsOftenAsItWorks) {
  publish_to_relay();
  const StoreCall call = GetParam().transactional ? StoreCall::kUnitCommit : StoreCall::kFinish;
  for (const When when : {When::kBefore, When::kAfter}) {
    faults_.fail(call, 1, ErrorKind::kInDoubt, when);
    const auto one = strategy();
    const std::string prefix = when == When::kBefore ? "b" : "a";
    deliver(*one, batch(keys(5, prefix)));
    deliver_held(*one);
  }
  if (GetParam().has_records() && GetParam().transactional) {
    EXPECT_EQ(effects(), 10);
    EXPECT_EQ(count_sent(), 10U);
  }
  EXPECT_GE(count_sent(), 10U);
}

TEST_P(StrategySuite, ADeadLetterLeavesACopy) {
  copies_to_ = relay();
  const auto one = strategy([](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text == "k001") return dead("not in this world");
    return std::nullopt;
  });
  deliver(*one, batch(keys(3)));
  auto copies = sent();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].key, "k001");
  EXPECT_EQ(copies[0].payload, "{}");
  EXPECT_EQ(find_header(copies[0].headers, "semel-consumer"), "payments");
  EXPECT_EQ(find_header(copies[0].headers, "semel-error"), "not in this world");
  EXPECT_EQ(dead_letters().size(), 1U) << "the store's own is the truth";
  if (!GetParam().has_records()) return;
  deliver(*one, batch({"k002"}, R"({"another":"payload"})"));
  copies = sent();
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].payload, R"({"another":"payload"})");
  EXPECT_EQ(find_header(copies[0].headers, "semel-reason"), reason::kKeyConflict);
}

}  // namespace
}  // namespace semel::conformance
