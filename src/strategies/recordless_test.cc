#include "strategies/recordless.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using semel::test::When;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

class RecordlessTest : public StrategyFixture {};

TEST_F(RecordlessTest, NaturalRunsEveryDeliveryAndKeepsNoRecord) {
  int ran = 0;
  context_.handler = PlainHandler([&](const Message&, const Attempt&) {
    ++ran;
    return done("r");
  });
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(process(StrategyKind::kNatural, keys(4)).count(Kind::kDone), 4U);
  }
  EXPECT_EQ(ran, 8);
  EXPECT_TRUE(store_.state.records.empty());
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 0U) << "there is nothing to record";
}

TEST_F(RecordlessTest, NaturalCountsTriesInTheHeldRow) {
  context_.handler = PlainHandler(
      [](const Message&, const Attempt&) -> Verdict { throw std::runtime_error("no"); });
  auto first = batch({"a"});
  EXPECT_EQ(process(StrategyKind::kNatural, first).of("a").attempt, 1);
  ASSERT_EQ(store_.state.held.size(), 1U);
  EXPECT_EQ(store_.state.held[0].attempts, 1);
  auto last = batch({"a"});
  last[0].arrival.attempts = 2;
  last[0].arrival.row = RowTag{3};
  store_.state.rows = {3};
  const auto sink = process(StrategyKind::kNatural, last);
  EXPECT_EQ(sink.of("a").kind, Kind::kDead);
  EXPECT_EQ(sink.of("a").attempt, 3);
  EXPECT_EQ(sink.of("a").settle, Settle::kAcked);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_TRUE(store_.state.rows.empty());
}

TEST_F(RecordlessTest, ATransactionalNaturalCommitsItsWorkWithTheRow) {
  context_.handler = TransactionalHandler([](const Message& message, Transaction& tx) -> Verdict {
    make_effect(message, tx);
    if (message.key().text == "k1") throw std::runtime_error("no");
    return done();
  });
  auto deliveries = batch(keys(3));
  deliveries[2].arrival.row = RowTag{9};
  store_.state.rows = {9};
  const auto sink = process(StrategyKind::kNatural, deliveries);
  EXPECT_EQ(sink.of("k0").kind, Kind::kDone);
  EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k2").settle, Settle::kAcked);
  EXPECT_EQ(store_.begun.size(), 1U);
  EXPECT_EQ(store_.state.effects.size(), 2U);
  EXPECT_EQ(store_.state.held.size(), 1U);
  EXPECT_TRUE(store_.state.rows.empty());
  EXPECT_TRUE(store_.state.records.empty());
}

TEST_F(RecordlessTest, AStoreThatIsAwayGivesBackWhatItShouldHaveHeld) {
  context_.claim.lease = std::chrono::milliseconds(50);
  context_.handler = PlainHandler([](const Message&, const Attempt&) { return retry("later"); });
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  const auto sink = process(StrategyKind::kNatural, {"a"});
  EXPECT_GT(faults_.fired(StoreCall::kFinish), 0U);
  EXPECT_EQ(sink.of("a").settle, Settle::kLater);
}

TEST_F(RecordlessTest, QueryLooksThenActsAndTwoWhoLookTogetherBothAct) {
  context_.handler = TransactionalHandler(effect);
  context_.already_done = [this](const Message& message) -> Result<bool> {
    return effects(message.key().text) > 0;
  };
  EXPECT_EQ(process(StrategyKind::kQuery, {"a"}).of("a").kind, Kind::kDone);
  EXPECT_EQ(process(StrategyKind::kQuery, {"a"}).of("a").kind, Kind::kDuplicate);
  EXPECT_EQ(effects("a"), 1);

  // The second message looks before the first one acts.
  bool nested = false;
  context_.already_done = [&](const Message& message) -> Result<bool> {
    const bool there = effects(message.key().text) > 0;
    if (!std::exchange(nested, true)) process(StrategyKind::kQuery, {"b"});
    return there;
  };
  process(StrategyKind::kQuery, {"b"});
  EXPECT_EQ(effects("b"), 2) << "the strategy's known fault";
}

TEST_F(RecordlessTest, ALookThatFailsHandlesNothing) {
  context_.handler = TransactionalHandler(effect);
  context_.already_done = [](const Message& message) -> Result<bool> {
    if (message.key().text == "odd") throw std::runtime_error("cannot be asked about");
    return failure({ErrorKind::kUnavailable, {}, "away", {}});
  };
  const auto sink = process(StrategyKind::kQuery, {"a", "odd"});
  EXPECT_EQ(sink.of("a").settle, Settle::kLater);
  EXPECT_EQ(sink.of("a").reason, reason::kStoreUnavailable);
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(sink.of("odd").kind, Kind::kDone) << "its handler says what is wrong with it";
}

}  // namespace
}  // namespace semel::strategies
