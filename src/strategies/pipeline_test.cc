#include "strategies/pipeline.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include <semel/reason.h>

#include "core/failpoints.h"
#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

constexpr StrategyKind kDedup = StrategyKind::kDedupTable;

class PipelineTest : public StrategyFixture {
 protected:
  PipelineTest() { handle(effect); }
  void handle(TransactionalHandler handler) { context_.handler = std::move(handler); }
};

TEST_F(PipelineTest, ABatchIsOneTransactionAndItsSecondComingNone) {
  const auto first = process(kDedup, keys(5));
  EXPECT_EQ(first.count(Kind::kDone), 5U);
  EXPECT_EQ(first.of("k3").settle, Settle::kAck);
  EXPECT_EQ(first.of("k3").attempt, 1);
  EXPECT_EQ(store_.begun.size(), 1U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U);
  ASSERT_EQ(monitor_.watched.size(), 1U);
  EXPECT_TRUE(monitor_.watched.front().transactional);
  EXPECT_EQ(monitor_.begun, 5);
  EXPECT_EQ(monitor_.ended, 5);
  EXPECT_EQ(environment_.failpoints.hits(failpoint::kHandlerBefore), 5U);
  EXPECT_EQ(environment_.failpoints.hits(failpoint::kHandlerAfter), 5U);

  const auto second = process(kDedup, keys(5));
  EXPECT_EQ(second.count(Kind::kDuplicate), 5U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U) << "nothing was there to commit";
  for (const auto& key : keys(5)) EXPECT_EQ(effects(key), 1);
}

TEST_F(PipelineTest, ResultsAreKeptAndGivenToDuplicates) {
  handle([](const Message&, Transaction&) { return done("paid"); });
  EXPECT_EQ(process(kDedup, {"a"}).of("a").result, "paid");
  EXPECT_EQ(process(kDedup, {"a"}).of("a").result, "paid");
}

TEST_F(PipelineTest, ARowOfTheStoreGoesWithTheCommit) {
  for (int round = 0; round < 2; ++round) {
    auto deliveries = batch({"a", "b"});
    deliveries[0].arrival.row = RowTag{7};
    store_.state.rows = {7};
    const auto sink = process(kDedup, deliveries);
    EXPECT_EQ(sink.of("a").settle, Settle::kAcked);
    EXPECT_EQ(sink.of("b").settle, Settle::kAck);
    EXPECT_TRUE(store_.state.rows.empty());
    EXPECT_EQ(sink.of("a").kind, round == 0 ? Kind::kDone : Kind::kDuplicate);
  }
  EXPECT_EQ(effects("a"), 1);
}

TEST_F(PipelineTest, AThrowCostsItsOwnMessageAnAttemptAndNobodyElseAnything) {
  handle([](const Message& message, Transaction& tx) {
    make_effect(message, tx);
    if (message.key().text == "k1") throw std::runtime_error("no stock\nat all");
    return done();
  });
  const auto sink = process(kDedup, keys(3));
  EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k1").settle, Settle::kAck) << "the store keeps it";
  EXPECT_EQ(sink.of("k1").reason, reason::kHandlerNative);
  EXPECT_GT(sink.of("k1").delay.count(), 0);
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
  EXPECT_EQ(effects("k1"), 0);
  EXPECT_EQ(store_.begun.size(), 1U);
  ASSERT_EQ(store_.state.held.size(), 1U);
  EXPECT_EQ(store_.state.held[0].attempts, 1);
  EXPECT_EQ(record_of("k1"), RecordState::kRetrying);

  EXPECT_EQ(process(kDedup, {"k1"}).of("k1").kind, Kind::kRetry) << "it waits";
  EXPECT_EQ(store_.state.held.size(), 1U);
  store_.now += std::chrono::seconds(1);
  EXPECT_EQ(process(kDedup, {"k1"}).of("k1").attempt, 2);
  store_.now += std::chrono::seconds(1);
  const Outcome last = process(kDedup, {"k1"}).of("k1");
  EXPECT_EQ(last.kind, Kind::kDead);
  EXPECT_EQ(last.reason, reason::kAttemptsExhausted);
  EXPECT_NE(last.error.find("no stock"), std::string::npos);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters[0].attempts, 3);
  EXPECT_EQ(process(kDedup, {"k1"}).of("k1").kind, Kind::kDead);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U) << "no second dead letter";
}

TEST_F(PipelineTest, EveryVerdictAndEveryThrowHasItsEnd) {
  handle([](const Message& message, Transaction& tx) -> Verdict {
    make_effect(message, tx);
    const Bytes& key = message.key().text;
    if (key == "discard") return discard("nothing to do\nreally");
    if (key == "dead") return dead("never");
    if (key == "retry") return retry("later", std::chrono::milliseconds(77));
    if (key == "negative") return retry("later", std::chrono::milliseconds(-5));
    if (key == "asked") {
      Verdict::Retry verdict;
      verdict.reason = "Retry-After: 0";
      verdict.after = std::chrono::milliseconds(0);
      verdict.asked = true;
      return verdict;
    }
    if (key == "payload") throw PayloadInvalid({ErrorKind::kRejected, {}, "no /amount", {}});
    if (key == "large") return done(Bytes(2U << 20U, 'x'));
    if (key == "number") throw 42;
    if (key == "ddl") tx.exec("DROP TABLE effect");
    return done();
  });
  const auto sink = process(kDedup, {"discard", "dead", "retry", "negative", "asked", "payload",
                                     "large", "number", "ddl", "good"});
  EXPECT_EQ(sink.of("discard").kind, Kind::kDiscarded);
  EXPECT_EQ(sink.of("discard").error, "nothing to do");
  EXPECT_EQ(record_of("discard"), RecordState::kCompleted);
  EXPECT_EQ(sink.of("dead").kind, Kind::kDead);
  EXPECT_EQ(sink.of("dead").reason, reason::kHandlerNative);
  EXPECT_EQ(sink.of("retry").delay.count(), 77);
  EXPECT_EQ(sink.of("negative").delay.count(), 0);
  EXPECT_GT(sink.of("asked").delay.count(), 77) << "the policy's own delay is longer";
  EXPECT_EQ(sink.of("payload").kind, Kind::kDead);
  EXPECT_EQ(sink.of("payload").reason, reason::kPayloadInvalid);
  EXPECT_EQ(sink.of("large").kind, Kind::kDead);
  EXPECT_EQ(sink.of("large").reason, reason::kTooLarge);
  EXPECT_EQ(sink.of("number").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("ddl").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("ddl").reason, "handler.sql.refused");
  EXPECT_EQ(sink.of("good").kind, Kind::kDone);
  EXPECT_EQ(store_.state.effects.size(), 1U) << "only what is done has an effect";
}

TEST_F(PipelineTest, ACondemnedMessageDiesOfItsOwnReason) {
  context_.dead_reason = reason::kCrash;
  handle([](const Message&, Transaction&) { return dead("it was running each time"); });
  EXPECT_EQ(process(kDedup, {"a"}).of("a").reason, reason::kCrash);
}

TEST_F(PipelineTest, AConflictIsADeadLetterOfItsOwnAndTheRecordStays) {
  process(kDedup, {"a"});
  std::vector<core::TrackedDelivery> other;
  other.push_back(semel::test::make_delivery(kConsumer, "a", "{\"other\":1}"));
  const auto sink = process(kDedup, other);
  EXPECT_EQ(sink.of("a").kind, Kind::kConflict);
  EXPECT_EQ(sink.of("a").settle, Settle::kAck);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters[0].reason, reason::kKeyConflict);
  EXPECT_EQ(record_of("a"), RecordState::kCompleted);
  EXPECT_EQ(effects("a"), 1);
}

TEST_F(PipelineTest, DeclaredMissesEndAsDeclaredAndShrinkNothing) {
  handle([](const Message& message, Transaction& tx) {
    const Bytes& key = message.key().text;
    make_effect(message, tx);
    if (key == "k0") tx.exec("UPDATE nothing SET x = 1").expect_rows(1, discard("gone already"));
    if (key == "k1") tx.exec("UPDATE nothing SET x = 1").expect_rows(1, dead("no account"));
    if (key == "k2")
      tx.exec("INSERT INTO taken VALUES (1)").on_unique_violation("taken(id)", done());
    if (key == "k3") tx.exec("INSERT INTO taken VALUES (1)");
    return done();
  });
  const auto sink = process(kDedup, keys(6));
  EXPECT_EQ(sink.of("k0").kind, Kind::kDiscarded);
  EXPECT_EQ(sink.of("k1").kind, Kind::kDead);
  EXPECT_EQ(sink.of("k1").reason, "handler.sql.expect_rows");
  EXPECT_EQ(sink.of("k2").kind, Kind::kDone);
  EXPECT_EQ(sink.of("k3").kind, Kind::kRetry) << "not named: the handler's error, no duplicate";
  EXPECT_EQ(sink.of("k3").reason, "handler.sql.constraint");
  EXPECT_EQ(sink.count(Kind::kDone), 3U);
  EXPECT_EQ(store_.state.effects.size(), 2U);
  EXPECT_EQ(store_.begun.size(), 1U);
}

TEST_F(PipelineTest, WhatWasRecordedIsSentAgainWithoutTheBadOne) {
  store_.sparse_undoes_all = true;
  std::map<Bytes, int> ran;
  handle([&](const Message& message, Transaction& tx) {
    ++ran[message.key().text];
    make_effect(message, tx);
    if (message.key().text == "k7") tx.exec("UPDATE broken SET x = 1");
    return done();
  });
  const auto sink = process(kDedup, keys(20));
  EXPECT_EQ(sink.count(Kind::kDone), 19U);
  EXPECT_EQ(sink.of("k7").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k7").attempt, 1);
  EXPECT_EQ(store_.begun.size(), 2U);
  for (const auto& [key, times] : ran) EXPECT_EQ(times, 1) << key;
  EXPECT_EQ(store_.state.effects.size(), 19U);
}

TEST_F(PipelineTest, AfterTwoUndoneTransactionsEachHasItsMarkThenItsTransaction) {
  store_.always_undoes_all = true;
  handle([](const Message& message, Transaction& tx) {
    make_effect(message, tx);
    if (message.key().text < "k5") tx.exec("UPDATE broken SET x = 1");
    return done();
  });
  const auto sink = process(kDedup, keys(10));
  EXPECT_EQ(sink.count(Kind::kDone), 5U);
  EXPECT_EQ(sink.count(Kind::kRetry), 5U);
  EXPECT_EQ(store_.state.effects.size(), 5U);
  ASSERT_GT(store_.begun.size(), 5U);
  EXPECT_EQ(store_.begun[1], Savepoints::kSparse);
  EXPECT_EQ(store_.begun[2], Savepoints::kEach);
  EXPECT_EQ(store_.claimed_count[3], 10U);
  EXPECT_EQ(store_.claimed_count[4], 1U);
}

TEST_F(PipelineTest, OnlyHandlersThatReadRunAgainAndThatIsNoAttempt) {
  store_.sparse_undoes_all = true;
  std::map<Bytes, std::vector<int>> attempts;
  handle([&](const Message& message, Transaction& tx) {
    attempts[message.key().text].push_back(tx.attempt().number);
    if (message.key().text == "k1") tx.query("SELECT effects");
    make_effect(message, tx);
    if (message.key().text == "k3") tx.exec("UPDATE broken SET x = 1");
    return done();
  });
  EXPECT_EQ(process(kDedup, keys(5)).count(Kind::kDone), 4U);
  EXPECT_EQ(attempts["k0"], std::vector<int>({1}));
  EXPECT_EQ(attempts["k1"], std::vector<int>({1, 1}));
  EXPECT_EQ(attempts["k4"], std::vector<int>({1}));
  EXPECT_EQ(effects("k1"), 1);
}

TEST_F(PipelineTest, AQuerySeesWhatCameBeforeItAndAFailureAfterItIsUndone) {
  std::int64_t seen = -1;
  handle([&](const Message& message, Transaction& tx) -> Verdict {
    make_effect(message, tx);
    if (message.key().text != "k2") return done();
    seen = std::get<std::int64_t>(tx.query("SELECT effects").rows.at(0).at(0));
    tx.exec("INSERT INTO effect VALUES (?)", "late");
    throw std::runtime_error("after the query");
  });
  const auto sink = process(kDedup, keys(4));
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(sink.of("k2").kind, Kind::kRetry);
  EXPECT_EQ(store_.state.effects.size(), 3U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitUndo), 1U);
}

TEST_F(PipelineTest, AQuerysOwnErrorIsItsHandlers) {
  handle([](const Message& message, Transaction& tx) {
    make_effect(message, tx);
    if (message.key().text == "k1") tx.query("SELECT broken");
    return done();
  });
  const auto sink = process(kDedup, keys(3));
  EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k1").reason, "handler.sql.syntax");
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
}

// With and without a transaction that survives: the reaction of an innocent handler to its
// neighbour's error must not count.
class PoisonTest : public PipelineTest, public ::testing::WithParamInterface<bool> {};

TEST_P(PoisonTest, ANeighboursErrorIsNeverThrownIntoTheInnocent) {
  store_.sparse_undoes_all = GetParam();
  int saw_exception = 0;
  int swallowed = 0;
  handle([&](const Message& message, Transaction& tx) -> Verdict {
    make_effect(message, tx);
    if (message.key().text == "k0") tx.exec("UPDATE broken SET x = 1");
    if (message.key().text == "k2") {
      try {
        tx.query("SELECT effects");
      } catch (const std::exception&) {
        ++saw_exception;
        throw;
      }
    }
    if (message.key().text == "k3") {
      try {
        tx.query("SELECT effects");
      } catch (...) {
        ++swallowed;
        return dead("it believes that this was its own");
      }
    }
    return done();
  });
  const auto sink = process(kDedup, keys(5));
  EXPECT_EQ(saw_exception, 0);
  EXPECT_EQ(swallowed, 0) << "k2 met it first";
  EXPECT_EQ(sink.of("k0").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k0").reason, "handler.sql.constraint");
  EXPECT_EQ(sink.count(Kind::kDone), 4U);
  EXPECT_EQ(store_.state.effects.size(), 4U);
  EXPECT_EQ(effects("k2"), 1);
}

TEST_P(PoisonTest, AVerdictOverABrokenTransactionIsNotLookedAt) {
  store_.sparse_undoes_all = GetParam();
  int swallowed = 0;
  handle([&](const Message& message, Transaction& tx) -> Verdict {
    make_effect(message, tx);
    if (message.key().text == "k0") tx.exec("UPDATE broken SET x = 1");
    if (message.key().text != "k1") return done();
    try {
      tx.query("SELECT effects");
    } catch (...) {
      ++swallowed;
      return dead("it believes that this was its own");
    }
    return done();
  });
  const auto sink = process(kDedup, keys(3));
  EXPECT_EQ(swallowed, 1) << "the fault must have been met";
  EXPECT_EQ(sink.of("k1").kind, Kind::kDone);
  EXPECT_EQ(effects("k1"), 1);
}

INSTANTIATE_TEST_SUITE_P(MendedOrUndone, PoisonTest, ::testing::Bool());

TEST_F(PipelineTest, TheInboxKeepsEveryMessageThatRan) {
  handle([](const Message& message, Transaction& tx) -> Verdict {
    if (message.key().text == "k1") throw std::runtime_error("no");
    return effect(message, tx);
  });
  process(StrategyKind::kInbox, keys(3));
  EXPECT_EQ(store_.state.inbox, std::vector<Bytes>({"k0", "k1", "k2"}));
}

TEST_F(PipelineTest, WithoutHoldingARetryLeavesNothing) {
  context_.hold = false;
  handle([](const Message& message, Transaction& tx) {
    make_effect(message, tx);
    return message.key().text == "k0" ? done() : retry("again");
  });
  const auto sink = process(kDedup, keys(2));
  EXPECT_EQ(sink.of("k1").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("k1").settle, Settle::kLater);
  EXPECT_TRUE(store_.state.held.empty());
  EXPECT_EQ(process(kDedup, {"k1"}).of("k1").attempt, 1);
  EXPECT_EQ(effects("k0"), 1);
  EXPECT_EQ(effects("k1"), 0);
}

TEST_F(PipelineTest, AStopBeforeTheStartGivesBack) {
  monitor_.stop_at_begin = [this](std::size_t) { return monitor_.begun > 1; };
  const auto sink = process(kDedup, keys(3));
  EXPECT_EQ(sink.of("k0").kind, Kind::kDone);
  EXPECT_EQ(sink.of("k1").settle, Settle::kRelease);
  EXPECT_EQ(effects("k1"), 0);
  monitor_.stop_at_begin = nullptr;
  EXPECT_EQ(process(kDedup, {"k1"}).of("k1").attempt, 1) << "it was no attempt";
}

}  // namespace
}  // namespace semel::strategies
