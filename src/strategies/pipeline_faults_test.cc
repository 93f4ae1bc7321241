// The pipeline on a store that fails at every call, in every way, with and without doubt.
#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>

#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using semel::test::When;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

constexpr ErrorKind kKinds[] = {ErrorKind::kUnavailable,      ErrorKind::kInDoubt,
                                ErrorKind::kRetryTransaction, ErrorKind::kBlocked,
                                ErrorKind::kRejected,         ErrorKind::kLimit};

class FaultTest : public StrategyFixture,
                  public ::testing::WithParamInterface<std::tuple<StoreCall, ErrorKind>> {
 protected:
  FaultTest() {
    context_.handler = TransactionalHandler([this](const Message& message, Transaction& tx) {
      ++ran;
      make_effect(message, tx);
      return done();
    });
  }
  int ran = 0;
};

TEST_P(FaultTest, AFaultThatPassesCostsNoEffectAndDoublesNone) {
  const auto [call, kind] = GetParam();
  faults_.fail(call, 1, kind, When::kBefore);
  const auto sink = process(StrategyKind::kDedupTable, keys(8));
  EXPECT_EQ(faults_.fired(call), 1U);
  EXPECT_EQ(ran, call == StoreCall::kBegin || call == StoreCall::kUnitClaim
                     ? static_cast<int>(sink.count(Kind::kDone))
                     : 8)
      << "recorded lists are sent again, handlers are not run again";
  // Messages that were not done were given back, and are done when they come again.
  for (const auto& [key, outcome] : sink.outcomes) {
    EXPECT_EQ(effects(key), outcome.kind == Kind::kDone ? 1 : 0);
    if (outcome.kind == Kind::kDone) continue;
    EXPECT_EQ(outcome.settle, Settle::kLater);
  }
  process(StrategyKind::kDedupTable, keys(8));
  for (const auto& key : keys(8)) EXPECT_EQ(effects(key), 1);
  EXPECT_TRUE(store_.state.held.empty());
  EXPECT_TRUE(store_.state.dead_letters.empty());
}

TEST_P(FaultTest, AFaultThatStaysGivesAllBackWithoutAWordInTheRecord) {
  const auto [call, kind] = GetParam();
  // An error of the statements alone is the messages' fault: see batch_blame_test.cc.
  if (call == StoreCall::kUnitFlush && kind != ErrorKind::kBlocked) {
    faults_.fail_always(StoreCall::kUnitCommit, kind, When::kBefore);
  }
  faults_.fail_always(call, kind, When::kBefore);
  const auto sink = process(StrategyKind::kDedupTable, keys(4));
  EXPECT_GT(faults_.fired(call), 0U);
  for (const auto& [key, outcome] : sink.outcomes) {
    EXPECT_EQ(outcome.settle, Settle::kLater) << key;
    EXPECT_GT(outcome.delay.count(), 0);
    if (outcome.kind != Kind::kBusy) {
      EXPECT_EQ(outcome.reason, reason::kStoreUnavailable);
    }
  }
  EXPECT_TRUE(store_.state.records.empty());
  EXPECT_TRUE(store_.state.effects.empty());
  faults_.clear();
  EXPECT_EQ(process(StrategyKind::kDedupTable, keys(4)).count(Kind::kDone), 4U);
}

INSTANTIATE_TEST_SUITE_P(
    EveryCall, FaultTest,
    ::testing::Combine(::testing::Values(StoreCall::kBegin, StoreCall::kUnitClaim,
                                         StoreCall::kUnitFlush, StoreCall::kUnitFinish,
                                         StoreCall::kUnitCommit),
                       ::testing::ValuesIn(kKinds)));

class DoubtTest : public StrategyFixture {
 protected:
  void handle(TransactionalHandler handler) { context_.handler = std::move(handler); }
  RememberingSink process_in_doubt(When when, std::vector<core::TrackedDelivery>& deliveries) {
    const std::size_t fired = faults_.fired(StoreCall::kUnitCommit);
    faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, when);
    auto sink = process(StrategyKind::kDedupTable, deliveries);
    EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), fired + 1);
    return sink;
  }
};

TEST_F(DoubtTest, ACommitWhoseAnswerWasLostIsAskedAboutAndNeitherRunAgainNorGivenUp) {
  for (const When when : {When::kAfter, When::kBefore}) {
    store_.state = {};
    int ran = 0;
    handle([&](const Message& message, Transaction& tx) -> Verdict {
      ++ran;
      make_effect(message, tx);
      const Bytes& key = message.key().text;
      if (key == "k1") throw std::runtime_error("no");
      if (key == "k2") return dead("never");
      if (key == "k3") return discard("nothing");
      return done("r");
    });
    auto deliveries = batch(keys(4));
    for (std::size_t i = 0; i < 4; ++i) {
      deliveries[i].arrival.row = RowTag{static_cast<std::int64_t>(i)};
      store_.state.rows.insert(static_cast<std::int64_t>(i));
    }
    const auto sink = process_in_doubt(when, deliveries);
    faults_.clear();
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(sink.of("k0").kind, Kind::kDone);
    EXPECT_EQ(sink.of("k0").result, "r");
    EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
    EXPECT_EQ(sink.of("k1").attempt, 1);
    EXPECT_EQ(sink.of("k2").kind, Kind::kDead);
    EXPECT_EQ(sink.of("k3").kind, Kind::kDiscarded);
    for (const auto& key : keys(4)) EXPECT_EQ(sink.of(key).settle, Settle::kAcked) << key;
    EXPECT_EQ(effects("k0"), 1);
    EXPECT_EQ(store_.state.held.size(), 1U);
    EXPECT_EQ(store_.state.dead_letters.size(), 1U);
    EXPECT_TRUE(store_.state.rows.empty());
  }
  EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), 2U);
}

TEST_F(DoubtTest, ARetryThatWasRecordedAndIsDueByNowIsNotCountedTwice) {
  handle(
      [&](const Message&, Transaction&) { return retry("at once", std::chrono::milliseconds(0)); });
  auto deliveries = batch({"a"});
  const auto sink = process_in_doubt(When::kAfter, deliveries);
  EXPECT_EQ(sink.of("a").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("a").attempt, 1);
  EXPECT_EQ(store_.state.held.size(), 1U);
  EXPECT_EQ(process(StrategyKind::kDedupTable, {"a"}).of("a").attempt, 2);
}

TEST_F(DoubtTest, AStoreThatStaysAwayAfterADoubtGetsTheMessageAgainLater) {
  handle(effect);
  faults_.fail(StoreCall::kBegin, 2, ErrorKind::kUnavailable, When::kBefore);
  for (std::size_t n = 3; n < 20; ++n) {
    faults_.fail(StoreCall::kBegin, n, ErrorKind::kUnavailable, When::kBefore);
  }
  auto deliveries = batch({"a"});
  const auto sink = process_in_doubt(When::kAfter, deliveries);
  EXPECT_EQ(sink.of("a").settle, Settle::kLater);
  faults_.clear();
  EXPECT_EQ(process(StrategyKind::kDedupTable, {"a"}).of("a").kind, Kind::kDuplicate);
  EXPECT_EQ(effects("a"), 1);
}

class PlainFaultsTest : public StrategyFixture {
 protected:
  PlainFaultsTest() { context_.handler = TransactionalHandler(effect); }
};

TEST_F(PlainFaultsTest, AMessageTheStoreRefusesIsFoundAndGivenBackAlone) {
  store_.refuse_key = "k13";
  const auto sink = process(StrategyKind::kDedupTable, keys(40));
  EXPECT_EQ(sink.count(Kind::kDone), 39U);
  EXPECT_EQ(sink.of("k13").settle, Settle::kLater);
  EXPECT_EQ(sink.of("k13").reason, reason::kStoreUnavailable);
  EXPECT_LT(store_.begun.size(), 25U) << "found by halving, not by single transactions";
}

TEST_F(PlainFaultsTest, OneWriterThatIsBlockedIsWaitedForOnce) {
  store_.traits_.single_writer = true;
  faults_.fail_always(StoreCall::kBegin, ErrorKind::kBlocked, When::kBefore);
  const auto sink = process(StrategyKind::kDedupTable, keys(40));
  EXPECT_EQ(faults_.calls(StoreCall::kBegin), 1U);
  EXPECT_EQ(sink.of("k0").reason, reason::kStoreUnavailable);
}

TEST_F(PlainFaultsTest, ABlockedKeyAloneIsBusyWhereOthersMayWrite) {
  faults_.fail_always(StoreCall::kUnitClaim, ErrorKind::kBlocked, When::kBefore);
  const auto sink = process(StrategyKind::kDedupTable, keys(2));
  EXPECT_EQ(sink.count(Kind::kBusy), 2U);
}

TEST_F(PlainFaultsTest, ATransactionThatMetAnotherComesAgainAloneAndThenSmaller) {
  faults_.fail(StoreCall::kUnitFlush, 1, ErrorKind::kRetryTransaction, When::kBefore);
  faults_.fail(StoreCall::kUnitFlush, 2, ErrorKind::kRetryTransaction, When::kBefore);
  EXPECT_EQ(process(StrategyKind::kDedupTable, keys(16)).count(Kind::kDone), 16U);
  ASSERT_GT(store_.claimed_count.size(), 2U);
  EXPECT_EQ(store_.claimed_count[0], 16U);
  EXPECT_EQ(store_.claimed_count[1], 16U);
  EXPECT_EQ(store_.claimed_count[2], 8U);
}

TEST_F(PlainFaultsTest, ATransactionThatWaitsForAStrangersRowComesAgainSmallerUntilOneIsBusy) {
  faults_.fail_always(StoreCall::kUnitFlush, ErrorKind::kBlocked, When::kBefore);
  const auto sink = process(StrategyKind::kDedupTable, keys(4));
  EXPECT_EQ(sink.count(Kind::kBusy), 4U);
  EXPECT_EQ(store_.claimed_count, std::vector<std::size_t>({4, 4, 2, 1, 1, 1, 1}));
}

TEST_F(PlainFaultsTest,
       ATransactionThatMeetsOthersAllTheTimeIsMadeAsSmallAsCanBeBeforeItIsGivenBack) {
  // Two attempts with 16 messages, then halving down to one message, and four attempts more.
  for (std::size_t n = 1; n < 10; ++n) {
    faults_.fail(StoreCall::kUnitFlush, n, ErrorKind::kRetryTransaction, When::kBefore);
  }
  EXPECT_EQ(process(StrategyKind::kDedupTable, keys(16)).count(Kind::kDone), 16U);
  EXPECT_EQ(faults_.fired(StoreCall::kUnitFlush), 9U);
}

}  // namespace
}  // namespace semel::strategies
