// Errors that name no message: when a message is at fault, and when the store is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <semel/gate.h>
#include <semel/reason.h>

#include "core/unkept_payload.h"
#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using semel::test::When;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;
using std::chrono::milliseconds;

class PausedGate final : public Gate {
 public:
  void shut(milliseconds, std::string_view) noexcept override {}
  void open() noexcept override {}
  void pause(std::string_view why) noexcept override { reasons.emplace_back(why); }
  std::vector<std::string> reasons;
};

class BlameTest : public StrategyFixture {
 protected:
  // Messages whose keys begin with "bad" run `statement` after an effect.
  void bad_ones_run(const std::string& statement) {
    context_.handler = TransactionalHandler([statement](const Message& message, Transaction& tx) {
      make_effect(message, tx);
      if (message.key().text.starts_with("bad")) tx.exec(statement);
      return done();
    });
  }
  RememberingSink process_mixed(std::size_t good, const std::vector<std::string>& bad) {
    auto all = keys(good);
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(good / 2), bad.begin(), bad.end());
    return process(StrategyKind::kDedupTable, all);
  }
  void expect_good(const RememberingSink& sink, std::size_t good) const {
    EXPECT_EQ(sink.count(Kind::kDone), good);
    for (const auto& key : keys(good)) EXPECT_EQ(effects(key), 1) << key;
  }
};

class LethalTest : public BlameTest, public ::testing::WithParamInterface<ErrorKind> {};

TEST_P(LethalTest, AMessageThatBreaksEachTransactionIsCountedAndGivenUpAndCostsNoNeighbour) {
  bad_ones_run("UPDATE lethal SET a = 1");
  store_.lethal.kind = GetParam();
  const auto sink = process_mixed(20, {"bad"});
  expect_good(sink, 20);
  EXPECT_EQ(sink.of("bad").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("bad").settle, Settle::kAck) << "it waits in the store";
  EXPECT_TRUE(sink.of("bad").reason.starts_with("handler.sql.")) << sink.of("bad").reason;
  EXPECT_EQ(sink.of("bad").error, store_.lethal.message);
  EXPECT_EQ(effects("bad"), 0);
  ASSERT_EQ(store_.state.held.size(), 1U);
  for (int attempt = 2; attempt <= 3; ++attempt) {
    store_.now += milliseconds(10'000);
    EXPECT_EQ(process(StrategyKind::kDedupTable, {"bad"}).of("bad").attempt, attempt);
  }
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters.front().reason, reason::kAttemptsExhausted);
  EXPECT_EQ(store_.state.dead_letters.front().payload, "{}");
}

INSTANTIATE_TEST_SUITE_P(Kinds, LethalTest,
                         ::testing::Values(ErrorKind::kUnavailable, ErrorKind::kInDoubt,
                                           ErrorKind::kRetryTransaction, ErrorKind::kRejected));

TEST_F(BlameTest, TheDisksErrorsAreNoMessagesOwn) {
  bad_ones_run("UPDATE lethal SET a = 1");
  for (const char* code : {"R201", "R202", "R203", "R205"}) {
    store_.lethal.code = code;
    const auto sink = process(StrategyKind::kDedupTable, {"bad"});
    EXPECT_EQ(sink.of("bad").reason, reason::kStoreUnavailable) << code;
    EXPECT_EQ(sink.of("bad").settle, Settle::kLater) << code;
    const auto& away = sink.of("bad").store_error;
    EXPECT_EQ(away == nullptr ? "none" : away->code, code);
  }
  EXPECT_TRUE(store_.state.records.empty());
}

TEST_F(BlameTest, NorIsAnythingButARefusalWhereNobodyElseUsesTheDatabase) {
  store_.traits_.single_writer = true;
  bad_ones_run("UPDATE lethal SET a = 1");
  EXPECT_EQ(process(StrategyKind::kDedupTable, {"bad"}).of("bad").reason,
            reason::kStoreUnavailable);
  store_.lethal.kind = ErrorKind::kRejected;
  EXPECT_EQ(process(StrategyKind::kDedupTable, {"bad"}).of("bad").settle, Settle::kAck);
}

TEST_F(BlameTest, AStoreThatCannotRecordTheFailureGetsTheMessageAgain) {
  bad_ones_run("UPDATE lethal SET a = 1");
  for (const StoreCall call : {StoreCall::kUnitFinish, StoreCall::kUnitCommit}) {
    faults_.fail_always(call, ErrorKind::kUnavailable, When::kBefore);
    const auto sink = process(StrategyKind::kDedupTable, {"bad"});
    EXPECT_GT(faults_.fired(call), 0U);
    EXPECT_EQ(sink.of("bad").reason, reason::kStoreUnavailable);
    EXPECT_EQ(sink.of("bad").settle, Settle::kLater);
    faults_.clear();
  }
  EXPECT_TRUE(store_.state.records.empty());
}

TEST_F(BlameTest, AViolationToldAtTheCommitIsItsMessagesOwn) {
  bad_ones_run("INSERT INTO deferred VALUES (1)");
  const auto sink = process_mixed(20, {"bad1", "bad2"});
  expect_good(sink, 20);
  for (const char* key : {"bad1", "bad2"}) {
    EXPECT_EQ(sink.of(key).kind, Kind::kRetry);
    EXPECT_EQ(sink.of(key).reason, "handler.sql.constraint");
    EXPECT_EQ(effects(key), 0);
  }
  EXPECT_LT(store_.begun.size(), 30U) << "found by halving";
}

TEST_F(BlameTest, AndANamedOneWhatItsRuleSays) {
  context_.handler = TransactionalHandler([](const Message& message, Transaction& tx) {
    make_effect(message, tx);
    if (message.key().text.starts_with("bad")) {
      tx.exec("INSERT INTO deferred VALUES (1)").on_unique_violation("deferred(a)", discard("had"));
    }
    return done();
  });
  const auto sink = process_mixed(8, {"bad"});
  expect_good(sink, 8);
  EXPECT_EQ(sink.of("bad").kind, Kind::kDiscarded);
  EXPECT_EQ(effects("bad"), 0);
}

TEST_F(BlameTest, WhatTheStoreDoesNotTakeBecomesADeadLetterWithoutItsPayload) {
  store_.largest = 10;
  context_.handler =
      TransactionalHandler([](const Message&, Transaction&) { return retry("later"); });
  auto deliveries = batch({"small"});
  deliveries.push_back(semel::test::make_delivery(kConsumer, "large", R"({"text":"0123456789"})"));
  const auto sink = process(StrategyKind::kDedupTable, deliveries);
  EXPECT_EQ(sink.of("small").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("large").kind, Kind::kDead);
  EXPECT_EQ(sink.of("large").settle, Settle::kAck);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters.front().payload, "");
  EXPECT_NE(store_.state.dead_letters.front().error.find("payload of 21 bytes is not kept"),
            std::string::npos)
      << store_.state.dead_letters.front().error;
}

TEST_F(BlameTest, OutsideOfATransactionToo) {
  store_.largest = 10;
  for (const bool fails : {true, false}) {
    store_.state = {};
    context_.handler =
        PlainHandler([&](const Message&, const Attempt&) { return fails ? retry("no") : done(); });
    auto deliveries = batch({"small"});
    deliveries.push_back(
        semel::test::make_delivery(kConsumer, "large", R"({"text":"0123456789"})"));
    const auto sink = process(kStateMachine, deliveries);
    EXPECT_EQ(sink.of("small").kind, fails ? Kind::kRetry : Kind::kDone);
    EXPECT_EQ(sink.of("large").kind, fails ? Kind::kDead : Kind::kDone);
    EXPECT_EQ(store_.state.dead_letters.size(), fails ? 1U : 0U);
  }
}

TEST_F(BlameTest, ThePayloadOfAConflictToo) {
  context_.handler = TransactionalHandler(effect);
  ASSERT_EQ(process(StrategyKind::kDedupTable, {"k"}).of("k").kind, Kind::kDone);
  store_.largest = 10;
  auto deliveries = batch({"other"});
  deliveries.push_back(semel::test::make_delivery(kConsumer, "k", R"({"text":"0123456789"})"));
  const auto sink = process(StrategyKind::kDedupTable, deliveries);
  EXPECT_EQ(sink.of("other").kind, Kind::kDone);
  EXPECT_EQ(sink.of("k").kind, Kind::kConflict);
  EXPECT_EQ(sink.of("k").settle, Settle::kAck);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  const auto& letter = store_.state.dead_letters.front();
  EXPECT_EQ(letter.reason, reason::kKeyConflict);
  EXPECT_EQ(letter.payload, "");
  EXPECT_NE(letter.error.find("payload of 21 bytes is not kept"), std::string::npos)
      << letter.error;
}

TEST_F(BlameTest, NoHandlerSeesAMessageWhosePayloadWasNotKept) {
  int ran = 0;
  context_.handler = TransactionalHandler([&](const Message&, Transaction&) {
    ++ran;
    return done();
  });
  std::vector<core::TrackedDelivery> deliveries;
  deliveries.emplace_back(core::without_payload(semel::test::make_message(kConsumer, "k", "{}")),
                          Arrival{});
  EXPECT_EQ(process(StrategyKind::kDedupTable, deliveries).of("k").kind, Kind::kDead);
  EXPECT_EQ(ran, 0);
}

TEST_F(BlameTest, ALookThatItsMessageBreaksIsCounted) {
  context_.handler = TransactionalHandler(effect);
  Error error{ErrorKind::kRejected, "handler.sql.constraint", "no integer", {}};
  context_.already_done = [&](const Message&) -> Result<bool> { return failure(error); };
  for (const ErrorKind kind :
       {ErrorKind::kRejected, ErrorKind::kLimit, ErrorKind::kRetryTransaction}) {
    store_.state = {};
    error.kind = kind;
    const auto sink = process(StrategyKind::kQuery, {"a"});
    EXPECT_EQ(sink.of("a").settle, Settle::kAck);
    EXPECT_EQ(sink.of("a").reason, "handler.sql.constraint");
    EXPECT_EQ(store_.state.held.size() + store_.state.dead_letters.size(), 1U);
  }
  error.kind = ErrorKind::kUnavailable;
  EXPECT_EQ(process(StrategyKind::kQuery, {"a"}).of("a").reason, reason::kStoreUnavailable);
}

TEST_F(BlameTest, ALookThatFailsForEveryMessagePausesItsConsumer) {
  PausedGate gate;
  context_.services.gate = &gate;
  context_.handler = TransactionalHandler(effect);
  context_.already_done = [](const Message&) -> Result<bool> {
    return failure(
        {ErrorKind::kRejected, "handler.sql.other", "no such table: paid", {}, Remedy::kStatement});
  };
  const auto sink = process(StrategyKind::kQuery, keys(5));
  EXPECT_EQ(sink.count(Kind::kBusy), 5U);
  EXPECT_TRUE(store_.state.dead_letters.empty());
  ASSERT_FALSE(gate.reasons.empty());
  EXPECT_NE(gate.reasons.front().find("no such table: paid"), std::string::npos);
}

TEST_F(BlameTest, AStatementThatNoMessageCanMendPausesItsConsumerAfterAFew) {
  PausedGate gate;
  context_.services.gate = &gate;
  context_.handler = TransactionalHandler([](const Message&, Transaction& tx) {
    tx.exec("UPDATE missing SET a = 1");
    return done();
  });
  const auto sink = process(StrategyKind::kDedupTable, keys(20));
  ASSERT_FALSE(gate.reasons.empty());
  EXPECT_NE(gate.reasons.front().find("no such column"), std::string::npos);
  EXPECT_EQ(sink.count(Kind::kDead), 3U);
  EXPECT_EQ(sink.count(Kind::kBusy), 17U);
  EXPECT_EQ(store_.state.dead_letters.size(), 3U);
}

TEST_F(BlameTest, WhereOthersAreDoneBetweenThemItGoesOn) {
  PausedGate gate;
  context_.services.gate = &gate;
  bad_ones_run("UPDATE missing SET a = 1");
  const auto mixed = process_mixed(20, {"bad a", "bad b", "bad c", "bad d", "bad e"});
  expect_good(mixed, 20);
  EXPECT_EQ(mixed.count(Kind::kDead), 5U);
  const auto strategy = make_strategy(StrategyKind::kDedupTable, context_);
  for (int n = 0; n < 10; ++n) {
    auto deliveries = batch({fmt::format("bad{}", n)});
    deliveries.push_back(semel::test::make_delivery(kConsumer, fmt::format("fresh{}", n), "{}"));
    RememberingSink sink;
    strategy->process(deliveries, sink);
    EXPECT_EQ(sink.count(Kind::kDead), 1U);
  }
  EXPECT_TRUE(gate.reasons.empty());
}

}  // namespace
}  // namespace semel::strategies
