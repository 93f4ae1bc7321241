// An effect that may have happened is never tried again.
#include <stdexcept>

#include <semel/reason.h>

#include "core/verdict_details.h"

#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using test::StoreCall;

TEST_P(AtMostOnceSuite, TheSameMessageTwice) {
  const auto one = strategy();
  EXPECT_EQ(count(deliver(*one, batch(keys(10))), Kind::kDone), 10U);
  EXPECT_EQ(count(deliver(*one, batch(keys(10))), Kind::kDuplicate), 10U);
  EXPECT_EQ(effects(), 10);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 20U) << "one at a time, by who starts it";
}

TEST_P(AtMostOnceSuite, WhatIsInDoubtIsParkedAndARedeliveryDoesNotRunIt) {
  const bool throws = GetParam().outside == StrategyCase::Outside::kPlain;
  const auto one = strategy([=](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text != "k001") return std::nullopt;
    if (throws) throw std::runtime_error("in the middle of it");
    Verdict::Retry verdict;
    verdict.reason = "the line broke";
    verdict.unknown = true;
    return verdict;
  });
  for (int i = 0; i < 2; ++i) {
    const auto outcomes = deliver(*one, batch(keys(3)));
    EXPECT_EQ(last(outcomes, "k001").kind, Kind::kParked);
    EXPECT_EQ(last(outcomes, "k001").reason, reason::kOutcomeUnknown);
  }
  EXPECT_EQ(runs("k001"), 1);
  EXPECT_EQ(effects(), 2);
  EXPECT_TRUE(dead_letters().empty()) << "it is not given up";
}

TEST_P(AtMostOnceSuite, WhatSaysThatNothingHappenedIsTriedAgain) {
  const auto one = strategy([this](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (runs(message.key().text) < 3) return retry("the line is busy", milliseconds(1));
    return std::nullopt;
  });
  deliver(*one, batch({"a"}));
  EXPECT_EQ(last(deliver_held(*one), "a").kind, Kind::kDone);
  EXPECT_EQ(runs("a"), 3);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(AtMostOnceSuite, AVerdictInDoubtIsTheLast) {
  const auto one = strategy([](const Message& message, Transaction*) -> std::optional<Verdict> {
    Verdict verdict = message.key().text == "a" ? retry("the line broke") : dead("cut off");
    core::set_unknown(verdict, true);
    return verdict;
  });
  const auto outcomes = deliver(*one, batch({"a", "b"}));
  for (const char* key : {"a", "b"}) {
    EXPECT_EQ(last(outcomes, key).reason, reason::kOutcomeUnknown) << key;
    EXPECT_EQ(runs(key), 1) << key;
  }
  EXPECT_TRUE(dead_letters().empty());
}

// It was done, and only then is it known that nothing can be published there.
TEST_P(AtMostOnceSuite, AnEffectWhoseDestinationIsNotThereIsNotRepeated) {
  const auto one = strategy([](const Message&, Transaction*) -> std::optional<Verdict> {
    return done({}, {{"elsewhere", {}}});
  });
  EXPECT_EQ(last(deliver(*one, batch({"a"})), "a").reason, reason::kOutcomeUnknown);
  deliver_held(*one);
  EXPECT_EQ(last(deliver(*one, batch({"a"})), "a").kind, Kind::kParked);
  EXPECT_EQ(runs("a"), 1);
}

TEST_P(AtMostOnceSuite, ATryThatWasBegunAndNeverEndedIsParked) {
  const auto deliveries = batch({"a"});
  const Message* const message = &deliveries.front().message;
  ClaimOptions options;
  options.lease = kLease;
  const auto claims = store_->claim({&message, 1}, options);
  ASSERT_TRUE(claims && std::holds_alternative<Acquired>(claims->front()));
  const auto one = strategy();
  const auto outcomes = deliver(*one, batch({"a"}));
  EXPECT_EQ(last(outcomes, "a").kind, Kind::kParked);
  EXPECT_EQ(last(outcomes, "a").reason, reason::kLeaseParked);
  EXPECT_EQ(runs("a"), 0);
  Finish late;
  late.lease = std::get<Acquired>(claims->front()).lease;
  EXPECT_EQ(store_->finish({&late, 1}).value().front(), Applied::kLeaseLost);
  const auto view = inner_->facets().records->show(message->key().id).value();
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->state, RecordState::kParked);
  EXPECT_TRUE(view->outcome_unknown);
}

TEST_P(AtMostOnceSuite, ACompletionWhoseAnswerIsLostIsNoDoubt) {
  for (const test::When when : {test::When::kBefore, test::When::kAfter}) {
    const std::string key = when == test::When::kBefore ? "before" : "after";
    const auto one = strategy();
    faults_.fail(StoreCall::kFinish, 1, ErrorKind::kInDoubt, when);
    EXPECT_EQ(last(process(*one, batch({key})), key).kind, Kind::kDone);
    EXPECT_EQ(last(deliver(*one, batch({key})), key).kind, Kind::kDuplicate);
    EXPECT_EQ(effects(key), 1);
  }
}

}  // namespace
}  // namespace semel::conformance
