#include "strategies/two_phase.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"
#include "tests/support/waiting.h"

namespace semel::strategies {
namespace {

using semel::test::StoreCall;
using semel::test::When;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

class TwoPhaseTest : public StrategyFixture {
 protected:
  TwoPhaseTest() {
    context_.claim.lease = milliseconds(200);
    handle([](const Message&, const Attempt&) { return done("r"); });
  }
  // Counts the effects outside.
  void handle(PlainHandler handler) {
    context_.handler = PlainHandler([this, handler](const Message& m, const Attempt& a) {
      ++ran[m.key().text];
      return handler(m, a);
    });
  }
  void apply(TransactionalHandler handler) { context_.handler = std::move(handler); }
  std::map<Bytes, int> ran;
};

TEST_F(TwoPhaseTest, ClaimedRunAndCompletedInOneFinishWhileHandlersAreFast) {
  const auto first = process(kStateMachine, keys(10));
  EXPECT_EQ(first.count(Kind::kDone), 10U);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 1U);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 1U);
  EXPECT_EQ(monitor_.watched.front().leases, 10U);
  EXPECT_FALSE(monitor_.watched.front().transactional);
  EXPECT_EQ(monitor_.finished.size(), 10U);
  const auto second = process(kStateMachine, keys(10));
  EXPECT_EQ(second.count(Kind::kDuplicate), 10U);
  EXPECT_EQ(second.of("k0").result, "r");
  for (const auto& [key, times] : ran) EXPECT_EQ(times, 1) << key;
}

TEST_F(TwoPhaseTest, TheTokenIsShownToTheHandler) {
  std::uint64_t token = 0;
  handle([&](const Message&, const Attempt& attempt) {
    token = static_cast<std::uint64_t>(attempt.token);
    return done();
  });
  process(kStateMachine, {"a"});
  EXPECT_EQ(token, 1U);
}

// The server began the lease before its answer came.
TEST_F(TwoPhaseTest, ALeaseIsAsOldAsTheQuestionForIt) {
  const auto asked = environment_.clock.elapsed();
  faults_.delay_answer(StoreCall::kClaim, [&] { environment_.clock.advance(milliseconds(150)); });
  process(kStateMachine, keys(2));
  EXPECT_GT(environment_.clock.elapsed(), asked);
  EXPECT_EQ(monitor_.watched.front().asked, std::vector(2, asked));
}

// The outcomes of one message whose store is away from its finish on, for `away` by the clock; then
// `meanwhile`, while it is still away.
class LongOutage : public TwoPhaseTest {
 protected:
  LongOutage() { context_.claim.lease = std::chrono::seconds(60); }
  RememberingSink outage(std::chrono::seconds away, const std::function<void()>& meanwhile) {
    faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
    std::thread waits([&] {
      EXPECT_TRUE(test::comes_true([&] { return faults_.fired(StoreCall::kFinish) > 0; }));
      environment_.clock.advance(away);
      meanwhile();
    });
    auto outcomes = process(kStateMachine, {"a"});
    waits.join();
    return outcomes;
  }
};

TEST_F(LongOutage, OfTheStoreCostsNoKnownResultWithinTheLease) {
  const auto outcomes = outage(std::chrono::seconds(40), [&] {
    const std::size_t before = faults_.fired(StoreCall::kFinish);
    EXPECT_TRUE(test::comes_true([&] { return faults_.fired(StoreCall::kFinish) > before + 1; }));
    faults_.clear();
  });
  EXPECT_EQ(outcomes.of("a").kind, Kind::kDone);
  EXPECT_EQ(ran["a"], 1);
}

TEST_F(LongOutage, BeyondTheLeaseGivesBack) {
  const auto outcomes = outage(std::chrono::seconds(61), [] {});
  EXPECT_EQ(outcomes.of("a").reason, reason::kStoreUnavailable);
}

TEST_F(LongOutage, OfTheStoreIsNotWaitedForByAConsumerThatDrains) {
  const auto outcomes = outage(std::chrono::seconds(40), [&] { monitor_.draining = true; });
  EXPECT_EQ(outcomes.of("a").reason, reason::kStoreUnavailable);
}

TEST_F(TwoPhaseTest, SlowHandlersAreFinishedOneByOne) {
  handle([this](const Message&, const Attempt&) {
    environment_.clock.advance(milliseconds(50));
    return done();
  });
  EXPECT_EQ(process(kStateMachine, keys(4)).count(Kind::kDone), 4U);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 4U);
}

TEST_F(TwoPhaseTest, ASlowClaimHastensNoEnding) {
  auto deliveries = batch(keys(4));
  RememberingSink sink;
  FinishCollector collector(context_, sink);
  const Claimed claimed = claim_batch(context_, deliveries, collector, sink);
  environment_.clock.advance(milliseconds(50));
  run_calls(context_, calls_of(claimed), collector, sink);
  EXPECT_EQ(sink.count(Kind::kDone), 4U);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 1U) << "the first ending would be told by itself";
}

TEST_F(TwoPhaseTest, ASlowHandlerHoldsBackNobodysEnding) {
  std::size_t finished_meanwhile = 0;
  handle([&](const Message& message, const Attempt&) {
    if (message.key().text != "k2") return done();
    environment_.clock.advance(milliseconds(50));
    monitor_.tick();
    finished_meanwhile = monitor_.finished.size();
    return done();
  });
  EXPECT_EQ(process(kStateMachine, keys(3)).count(Kind::kDone), 3U);
  EXPECT_EQ(finished_meanwhile, 2U);
}

TEST_F(TwoPhaseTest, AFailureIsHeldAndInTheEndDead) {
  handle([](const Message&, const Attempt&) -> Verdict { throw std::runtime_error("away"); });
  auto deliveries = batch({"a"});
  deliveries[0].arrival.row = RowTag{5};
  store_.state.rows = {5};
  EXPECT_EQ(process(kStateMachine, deliveries).of("a").settle, Settle::kAcked);
  EXPECT_TRUE(store_.state.rows.empty());
  EXPECT_EQ(store_.state.held.size(), 1U);
  store_.now += std::chrono::seconds(1);
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kRetry);
  store_.now += std::chrono::seconds(1);
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").reason, reason::kAttemptsExhausted);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
}

TEST_F(TwoPhaseTest, AFailureAfterTheStopTokenFiredIsPutDownToIt) {
  handle([this](const Message&, const Attempt& attempt) -> Verdict {
    monitor_.stop.request_stop();
    EXPECT_TRUE(attempt.stop.stop_requested());
    return retry("cancelled");
  });
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").reason, reason::kHandlerTimeout);
}

TEST_F(TwoPhaseTest, ALateResultCountsWhileTheLeaseIsOurs) {
  handle([this](const Message&, const Attempt&) {
    monitor_.stop.request_stop();
    return done();
  });
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kDone);
}

TEST_F(TwoPhaseTest, AnotherHolderDecidesWhatALateOneCameTo) {
  handle([this](const Message& message, const Attempt&) {
    if (message.key().text == "k0") {
      store_.now += std::chrono::seconds(10);
      const Message* const same = &message;
      EXPECT_TRUE(
          std::holds_alternative<Acquired>(store_.claim({&same, 1}, context_.claim)->front()));
    }
    return done();
  });
  const auto sink = process(kStateMachine, keys(2));
  EXPECT_EQ(sink.of("k0").kind, Kind::kBusy);
  EXPECT_EQ(sink.of("k0").settle, Settle::kLater);
  EXPECT_EQ(sink.of("k1").kind, Kind::kDone);
  EXPECT_EQ(observer_.leases_lost(), std::vector<Bytes>({"k0"}));
  EXPECT_EQ(record_of("k0"), RecordState::kConsuming) << "the late write changed nothing";
}

TEST_F(TwoPhaseTest, WhatWasLostBeforeItBeganIsNotRun) {
  monitor_.stop_at_begin = [](std::size_t lease) { return lease == 1; };
  const auto sink = process(kStateMachine, keys(3));
  EXPECT_EQ(sink.of("k1").settle, Settle::kRelease);
  EXPECT_EQ(ran.count("k1"), 0U);
  monitor_.stop_at_begin = nullptr;
  EXPECT_EQ(process(kStateMachine, {"k1"}).of("k1").attempt, 1);
}

TEST_F(TwoPhaseTest, AStoreThatCannotClaimRunsNothing) {
  for (const ErrorKind kind : {ErrorKind::kUnavailable, ErrorKind::kRetryTransaction,
                               ErrorKind::kBlocked, ErrorKind::kLimit}) {
    faults_.fail_always(StoreCall::kClaim, kind, When::kBefore);
    const auto sink = process(kStateMachine, keys(3));
    EXPECT_GT(faults_.fired(StoreCall::kClaim), 0U);
    EXPECT_EQ(sink.count(Kind::kRetry), 3U);
    EXPECT_EQ(sink.of("k0").reason, reason::kStoreUnavailable);
    EXPECT_EQ(sink.of("k0").settle, Settle::kLater);
    faults_.clear();
  }
  EXPECT_TRUE(ran.empty());
  faults_.fail(StoreCall::kClaim, 1, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_EQ(process(kStateMachine, keys(3)).count(Kind::kDone), 3U);
}

TEST_F(TwoPhaseTest, OneForWhomThereIsNoRoomCostsNobodyElse) {
  store_.refuse_key = "k5";
  const auto sink = process(kStateMachine, keys(16));
  EXPECT_EQ(sink.count(Kind::kDone), 15U);
  EXPECT_EQ(sink.of("k5").settle, Settle::kLater);
}

TEST_F(TwoPhaseTest, AFinishInDoubtIsResolvedByTheRecord) {
  handle([](const Message& message, const Attempt&) -> Verdict {
    if (message.key().text == "k1") return retry("later");
    if (message.key().text == "k2") return dead("never");
    return done("r");
  });
  for (const When when : {When::kAfter, When::kBefore}) {
    store_.state = {};
    ran.clear();
    faults_.fail(StoreCall::kFinish, 1, ErrorKind::kInDoubt, when);
    const auto sink = process(kStateMachine, keys(4));
    EXPECT_EQ(sink.of("k0").kind, Kind::kDone);
    EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
    EXPECT_EQ(sink.of("k1").settle, Settle::kAck);
    EXPECT_EQ(sink.of("k2").kind, Kind::kDead);
    EXPECT_EQ(sink.of("k3").result, "r");
    EXPECT_EQ(store_.state.held.size(), 1U);
    EXPECT_EQ(store_.state.dead_letters.size(), 1U);
    for (const auto& [key, times] : ran) EXPECT_EQ(times, 1) << key;
    EXPECT_TRUE(observer_.leases_lost().empty());
  }
  EXPECT_EQ(faults_.fired(StoreCall::kFinish), 2U);
}

// Its record says for ever that a holder vanished, which does not mean that this retry is
// unwritten.
TEST_F(TwoPhaseTest, ARetryInDoubtIsCountedOnceThoughAnEarlierHolderVanished) {
  std::vector<int> attempts;
  handle([&](const Message&, const Attempt& attempt) -> Verdict {
    attempts.push_back(attempt.number);
    if (attempts.size() == 2) return retry("soon", milliseconds(0));
    return done();
  });
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  process(kStateMachine, {"x"});
  faults_.clear();
  store_.now += std::chrono::seconds(1);
  const std::size_t before = faults_.fired(StoreCall::kFinish);
  faults_.fail(StoreCall::kFinish, 1, ErrorKind::kInDoubt, When::kAfter);
  EXPECT_EQ(process(kStateMachine, {"x"}).of("x").kind, Kind::kRetry);
  EXPECT_EQ(faults_.fired(StoreCall::kFinish), before + 1);
  store_.now += std::chrono::seconds(1);
  EXPECT_EQ(process(kStateMachine, {"x"}).of("x").kind, Kind::kDone);
  EXPECT_EQ(attempts, std::vector({1, 2, 3}));
}

// A new primary without the last writes, or another holder that took over and gave back: in both
// the record may be claimed, as it may where the retry was recorded and is due.
TEST_F(TwoPhaseTest, ARetryInDoubtIsAcknowledgedOnlyWhereItIsKept) {
  const auto lose_record = [&] { store_.state = {}; };
  const auto take_over_and_give_back = [&] {
    store_.now += std::chrono::seconds(10);
    const Message message = semel::test::make_message(kConsumer, "x");
    const Message* const same = &message;
    const auto claims = store_.claim({&same, 1}, context_.claim);
    const Finish back = not_started(std::get<Acquired>(claims->front()).lease);
    EXPECT_EQ(store_.finish({&back, 1})->front(), Applied::kYes);
  };
  for (const std::function<void()>& meanwhile :
       {std::function<void()>(lose_record), std::function<void()>(take_over_and_give_back)}) {
    store_.state = {};
    handle([&](const Message&, const Attempt&) -> Verdict {
      meanwhile();
      return retry("later");
    });
    const std::size_t before = faults_.fired(StoreCall::kFinish);
    faults_.fail(StoreCall::kFinish, 1, ErrorKind::kInDoubt, When::kBefore);
    const auto sink = process(kStateMachine, {"x"});
    EXPECT_EQ(faults_.fired(StoreCall::kFinish), before + 1);
    EXPECT_EQ(sink.of("x").kind, Kind::kRetry);
    EXPECT_EQ(sink.of("x").settle, Settle::kAck);
    ASSERT_EQ(store_.state.held.size(), 1U);
    store_.now += std::chrono::hours(1);
    int attempt = 0;
    handle([&](const Message&, const Attempt& next) -> Verdict {
      attempt = next.number;
      return done();
    });
    EXPECT_EQ(process(kStateMachine, {"x"}).of("x").kind, Kind::kDone);
    EXPECT_EQ(attempt, 2) << "counted once";
  }
}

TEST_F(TwoPhaseTest, AnApplyThatRetriesInDoubtIsAcknowledgedOnlyWhereItIsKept) {
  apply([&](const Message&, Transaction&) -> Verdict {
    store_.state = {};
    return retry("later");
  });
  faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, When::kBefore);
  const auto sink = process(kStateMachine, {"x"});
  EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), 1U);
  EXPECT_TRUE(sink.of("x").settle == Settle::kLater || store_.state.held.size() == 1);
}

TEST_F(TwoPhaseTest, WhatIsTakenOverComesAgainAsASuspectWhereAnEngineKeepsIt) {
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  process(kStateMachine, {"x", "y"});
  faults_.clear();
  store_.now += std::chrono::seconds(1);
  // Guard keeps nothing.
  EXPECT_EQ(process(kStateMachine, {"y"}).of("y").kind, Kind::kDone);

  keep_suspects();
  ran.clear();
  auto deliveries = batch({"x"});
  const auto kept = process(kStateMachine, deliveries);
  EXPECT_EQ(kept.of("x").settle, Settle::kKeep);
  EXPECT_TRUE(deliveries[0].arrival.suspect);
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(observer_.leases_lost().empty());
  std::optional<Attempt> attempt;
  handle([&](const Message&, const Attempt& now) {
    attempt.emplace(now);
    return done();
  });
  EXPECT_EQ(process(kStateMachine, deliveries).of("x").kind, Kind::kDone);
  ASSERT_TRUE(attempt.has_value());
  EXPECT_EQ(attempt->number, 2) << "the look is no attempt";
  EXPECT_TRUE(attempt->taken_over);
}

TEST_F(TwoPhaseTest, AFinishIsTriedWhileTheLeaseLivesAndThenGivenBack) {
  for (std::size_t n = 1; n < 4; ++n) {
    faults_.fail(StoreCall::kFinish, n, ErrorKind::kUnavailable, When::kBefore);
  }
  EXPECT_EQ(process(kStateMachine, keys(2)).count(Kind::kDone), 2U);
  EXPECT_EQ(faults_.fired(StoreCall::kFinish), 3U);

  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  const auto away = process(kStateMachine, {"x"});
  EXPECT_EQ(away.of("x").settle, Settle::kLater);
  EXPECT_EQ(away.of("x").reason, reason::kStoreUnavailable);
  faults_.clear();
  EXPECT_EQ(process(kStateMachine, {"x"}).of("x").kind, Kind::kBusy) << "our lease still stands";
  store_.now += std::chrono::seconds(1);
  const auto again = process(kStateMachine, {"x"});
  EXPECT_EQ(again.of("x").kind, Kind::kDone);
  EXPECT_EQ(ran["x"], 2) << "at least once is what this strategy promises";
}

TEST_F(TwoPhaseTest, ConflictsAndRowsOfDuplicatesAreToldToTheStore) {
  process(kStateMachine, {"a", "b"});
  std::vector<core::TrackedDelivery> again = batch({"a"});
  again.push_back(semel::test::make_delivery(kConsumer, "b", "other"));
  again[0].arrival.row = RowTag{1};
  again[1].arrival.row = RowTag{2};
  store_.state.rows = {1, 2};
  const auto sink = process(kStateMachine, again);
  EXPECT_EQ(sink.of("a").settle, Settle::kAcked);
  EXPECT_EQ(sink.of("b").kind, Kind::kConflict);
  EXPECT_TRUE(store_.state.rows.empty());
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
}

TEST_F(TwoPhaseTest, AnApplyCommitsWithItsCompletion) {
  apply(effect);
  const auto sink = process(kStateMachine, keys(6));
  EXPECT_EQ(sink.count(Kind::kDone), 6U);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 1U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitConfirm), 1U);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 0U);
  EXPECT_EQ(monitor_.watched.front().leases, 6U);
  EXPECT_EQ(process(kStateMachine, keys(6)).count(Kind::kDuplicate), 6U);
  for (const auto& key : keys(6)) EXPECT_EQ(effects(key), 1);
}

TEST_F(TwoPhaseTest, AnApplyInDoubtIsKnownByItsNonceAndItsRecord) {
  apply(effect);
  for (const When when : {When::kAfter, When::kBefore}) {
    store_.state = {};
    faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, when);
    const auto sink = process(kStateMachine, keys(3));
    EXPECT_EQ(sink.count(Kind::kDone), 3U);
    for (const auto& key : keys(3)) EXPECT_EQ(effects(key), 1);
  }
  EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), 2U);
  EXPECT_TRUE(observer_.leases_lost().empty());
}

TEST_F(TwoPhaseTest, AnApplyWhoseLeaseWasLostDoesNothing) {
  apply(effect);
  environment_.failpoints.on("none", [] {});
  faults_.fail(StoreCall::kUnitConfirm, 1, ErrorKind::kRetryTransaction, When::kBefore);
  // Lets another holder take over while the first transaction fails.
  class Taking final : public Random {
   public:
    explicit Taking(std::function<void()> action) : action_(std::move(action)) {}
    std::uint64_t next() noexcept override {
      if (action_) std::exchange(action_, nullptr)();
      return 0;
    }

   private:
    std::function<void()> action_;
  } random([this] {
    store_.now += std::chrono::seconds(10);
    const Message message = semel::test::make_message(kConsumer, "k0");
    const Message* const same = &message;
    EXPECT_TRUE(
        std::holds_alternative<Acquired>(store_.claim({&same, 1}, context_.claim)->front()));
  });
  Environment taking{&environment_.clock, &random, nullptr};
  context_.environment = &taking;
  const auto sink = process(kStateMachine, keys(2));
  EXPECT_EQ(sink.of("k0").kind, Kind::kBusy);
  EXPECT_EQ(sink.of("k1").kind, Kind::kDone);
  EXPECT_EQ(effects("k0"), 0);
  EXPECT_EQ(observer_.leases_lost(), std::vector<Bytes>({"k0"}));
}

TEST_F(TwoPhaseTest, AnApplyThatCannotBeginGivesItsClaimsBack) {
  apply(effect);
  faults_.fail_always(StoreCall::kBegin, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_EQ(process(kStateMachine, keys(2)).of("k0").settle, Settle::kLater);
  faults_.clear();
  const auto sink = process(kStateMachine, keys(2));
  EXPECT_EQ(sink.count(Kind::kDone), 2U) << "no lease was left behind";
  EXPECT_EQ(sink.of("k0").attempt, 1);
}

}  // namespace
}  // namespace semel::strategies
