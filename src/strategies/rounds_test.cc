// A batch of state_machine with messages behind others of their ordering key.
#include "strategies/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include <semel/reason.h>

#include "strategies/age_gate.h"
#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using semel::test::StoreCall;
using semel::test::When;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;
using Names = std::vector<std::string>;

class RoundsTest : public StrategyFixture {
 protected:
  RoundsTest() {
    context_.claim.lease = milliseconds(200);
    handle([](const Message&) { return done(); });
  }
  // Notes the messages that the handler is called for, and which of them the store has completed by
  // then.
  void handle(const std::function<Verdict(const Message&)>& handler) {
    context_.handler = PlainHandler([this, handler](const Message& message, const Attempt&) {
      const std::string key = message.key().text;
      handled_.push_back(key);
      for (const std::string& before : before_[key]) {
        EXPECT_EQ(record_of(before), RecordState::kCompleted) << before << " before " << key;
      }
      if (fails_.contains(key)) throw std::runtime_error("no");
      return handler(message);
    });
  }
  // The first letter of a message's key is its ordering key.
  std::vector<core::TrackedDelivery> lines(const Names& keys) {
    std::map<char, Names> seen;
    for (const std::string& key : keys) {
      before_[key] = seen[key.front()];
      seen[key.front()].push_back(key);
    }
    return ordered_batch(keys, [](const std::string& key) { return key.substr(0, 1); });
  }
  RememberingSink process_lines(const Names& keys) {
    auto batch = lines(keys);
    return process(kStateMachine, batch);
  }
  static void expect_left(const RememberingSink& sink, const Names& keys) {
    for (const std::string& key : keys) {
      EXPECT_EQ(sink.of(key).settle, Settle::kKeep) << key;
      EXPECT_EQ(sink.of(key).kind, Kind::kRetry) << key;
      EXPECT_EQ(sink.of(key).delay.count(), 0) << key;
    }
  }
  // The claims are undone, as if they had never been made.
  void expect_untried(const Names& keys) {
    for (const std::string& key : keys) {
      const auto found =
          store_.state.records.find(semel::test::make_message(kConsumer, key).key().id);
      EXPECT_TRUE(found == store_.state.records.end() || !found->second) << key;
      EXPECT_EQ(std::ranges::count(handled_, key), 0) << key;
    }
  }
  static std::ptrdiff_t at(const RememberingSink& sink, const std::string& key) {
    return std::ranges::find(sink.order, key) - sink.order.begin();
  }
  Message message(const std::string& key) { return semel::test::make_message(kConsumer, key); }

  std::set<std::string> fails_;
  std::map<std::string, Names> before_;
  Names handled_;
};

TEST_F(RoundsTest, EachIsRecordedBeforeTheNextOfItsKeyBegins) {
  const auto sink = process_lines({"a1", "a2", "a3", "b1", "b2", "c1"});
  EXPECT_EQ(sink.count(Kind::kDone), 6U);
  EXPECT_EQ(handled_, Names({"a1", "b1", "c1", "a2", "b2", "a3"}));
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 1U);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 3U);
  ASSERT_EQ(monitor_.watched.size(), 1U);
  EXPECT_EQ(monitor_.watched.front().leases, 6U) << "those of later rounds are kept too";
  EXPECT_EQ(monitor_.finished.size(), 6U);
}

TEST_F(RoundsTest, WhatStandsBehindOneThatComesAgainIsGivenBackFirst) {
  fails_ = {"a2"};
  const auto sink = process_lines({"a1", "a2", "a3", "a4", "b1", "b2", "b3"});
  EXPECT_EQ(sink.count(Kind::kDone), 4U) << "a1, and all of b";
  EXPECT_EQ(sink.of("a2").kind, Kind::kRetry);
  EXPECT_EQ(sink.of("a2").attempt, 1);
  expect_left(sink, {"a3", "a4"});
  expect_untried({"a3", "a4"});
  EXPECT_LT(at(sink, "a3"), at(sink, "a2"));
  EXPECT_LT(at(sink, "a4"), at(sink, "a2"));
  fails_.clear();
  store_.now += std::chrono::seconds(1);
  EXPECT_EQ(process_lines({"a2", "a3", "a4"}).count(Kind::kDone), 3U);
}

TEST_F(RoundsTest, AMessageThatIsGivenUpHoldsNobody) {
  fails_ = {"a1"};
  context_.retry.attempts = 1;
  auto batch = lines({"a1", "a2"});
  before_.clear();
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(sink.of("a1").kind, Kind::kDead);
  EXPECT_EQ(sink.of("a2").kind, Kind::kDone);
}

TEST_F(RoundsTest, ADuplicateAmongThemHoldsNobodyAndEndsInItsTurn) {
  process_lines({"a2"});
  handled_.clear();
  auto batch = lines({"a1", "a2", "a3"});
  std::int64_t row = 0;
  for (core::TrackedDelivery& delivery : batch) {
    delivery.arrival.row = RowTag{++row};
    store_.state.rows.insert(row);
  }
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(sink.of("a2").kind, Kind::kDuplicate);
  EXPECT_EQ(sink.count(Kind::kDone), 2U);
  EXPECT_EQ(sink.order, Names({"a1", "a2", "a3"}));
}

// The rows of a whole batch are then removed in one call of their source.
TEST_F(RoundsTest, RowsOfWhatIsDoneGoWhenTheyAreSettled) {
  auto batch = lines({"a1", "a2", "a3", "b1"});
  std::int64_t row = 0;
  for (core::TrackedDelivery& delivery : batch) {
    delivery.arrival.row = RowTag{++row};
    store_.state.rows.insert(row);
  }
  fails_ = {"a2"};
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(sink.of("a1").settle, Settle::kAck);
  EXPECT_EQ(sink.of("a2").settle, Settle::kAcked) << "kept for later, in the step that says so";
  EXPECT_EQ(sink.of("b1").settle, Settle::kAck);
  EXPECT_EQ(store_.state.rows.size(), 3U) << "of a1 and b1, and of a3, which is left";
  EXPECT_EQ(record_of("a1"), RecordState::kCompleted);
}

TEST_F(RoundsTest, TheRowOfOneThatTheStoreCannotKeepGoesWithItsLetter) {
  auto batch = lines({"a1", "a2"});
  before_.clear();
  std::int64_t row = 0;
  for (core::TrackedDelivery& delivery : batch) {
    delivery.arrival.row = RowTag{++row};
    store_.state.rows.insert(row);
  }
  // Once as one of several, and then by itself.
  faults_.fail(StoreCall::kFinish, 1, ErrorKind::kLimit, When::kBefore);
  faults_.fail(StoreCall::kFinish, 2, ErrorKind::kLimit, When::kBefore);
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(faults_.fired(), 2U);
  EXPECT_EQ(sink.of("a1").kind, Kind::kDead);
  EXPECT_EQ(sink.of("a1").settle, Settle::kAcked);
  EXPECT_FALSE(store_.state.rows.contains(1)) << "nothing else takes it";
  EXPECT_EQ(sink.of("a2").settle, Settle::kAck);
}

TEST_F(RoundsTest, ADuplicateBehindOneThatComesAgainIsLeftLikeAll) {
  process_lines({"a2"});
  fails_ = {"a1"};
  const auto sink = process_lines({"a1", "a2", "a3"});
  expect_left(sink, {"a2", "a3"});
  expect_untried({"a3"});
  EXPECT_LT(at(sink, "a2"), at(sink, "a1"));
}

TEST_F(RoundsTest, OneThatAnotherHoldsIsPassedByNobody) {
  const Message held = message("a2");
  const Message* const one = &held;
  ASSERT_TRUE(store_.claim({&one, 1}, {milliseconds(60'000), {}, false}).has_value());
  const auto sink = process_lines({"a1", "a2", "a3"});
  EXPECT_EQ(sink.of("a1").kind, Kind::kDone);
  EXPECT_EQ(sink.of("a2").kind, Kind::kBusy);
  expect_left(sink, {"a3"});
  expect_untried({"a3"});
  EXPECT_LT(at(sink, "a3"), at(sink, "a2"));
}

TEST_F(RoundsTest, AStopBetweenRoundsGivesBackWhatHasNotBegun) {
  monitor_.stop_at_begin = [this](std::size_t) { return monitor_.begun > 2; };
  const auto sink = process_lines({"a1", "a2", "a3", "b1", "b2"});
  EXPECT_EQ(sink.count(Kind::kDone), 2U) << "a1 and b1";
  expect_left(sink, {"a3"});
  for (const char* key : {"a2", "b2"}) EXPECT_EQ(sink.of(key).settle, Settle::kRelease) << key;
  expect_untried({"a2", "a3", "b2"});
  EXPECT_LT(at(sink, "a3"), at(sink, "a2"));
}

TEST_F(RoundsTest, ALeaseThatIsLostBetweenRoundsHoldsUpWhatIsBehind) {
  handle([this](const Message& m) {
    if (m.key().text != "a1") return done();
    // Another process takes a2 over while this one is stopped.
    store_.now += std::chrono::seconds(10);
    const Message other = message("a2");
    const Message* const one = &other;
    EXPECT_TRUE(store_.claim({&one, 1}, {milliseconds(60'000), {}, false}).has_value());
    return done();
  });
  const auto sink = process_lines({"a1", "a2", "a3"});
  EXPECT_EQ(sink.of("a1").kind, Kind::kDone) << "nobody else had it";
  EXPECT_EQ(sink.of("a2").kind, Kind::kBusy);
  expect_left(sink, {"a3"});
  EXPECT_EQ(std::ranges::count(handled_, "a3"), 0);
  EXPECT_LT(at(sink, "a3"), at(sink, "a2"));
}

TEST_F(RoundsTest, AStoreThatIsAwayLeavesNothingBehindToPass) {
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  const auto sink = process_lines({"a1", "a2", "b1"});
  for (const char* key : {"a1", "b1"}) {
    EXPECT_EQ(sink.of(key).reason, reason::kStoreUnavailable) << key;
  }
  expect_left(sink, {"a2"});
  EXPECT_EQ(handled_, Names({"a1", "b1"}));
  EXPECT_LT(at(sink, "a2"), at(sink, "a1"));
}

TEST_F(RoundsTest, WhereNothingCanBeClaimedNothingPasses) {
  faults_.fail_always(StoreCall::kClaim, ErrorKind::kUnavailable, When::kBefore);
  const auto sink = process_lines({"a1", "a2", "b1"});
  EXPECT_EQ(sink.of("a1").settle, Settle::kLater);
  EXPECT_EQ(sink.of("b1").settle, Settle::kLater);
  expect_left(sink, {"a2"});
  EXPECT_TRUE(handled_.empty());
}

TEST_F(RoundsTest, ABatchHandlerIsCalledOnceForEachRound) {
  std::vector<Names> calls;
  context_.handler = BatchHandler([&](std::span<const Message* const> messages, auto) {
    Names& call = calls.emplace_back();
    std::vector<Verdict> verdicts;
    for (const Message* const message : messages) {
      call.push_back(message->key().text);
      verdicts.push_back(call.back() == "b1" ? retry("not yet") : done());
    }
    return verdicts;
  });
  const auto sink = process_lines({"a1", "a2", "b1", "b2"});
  EXPECT_EQ(calls, (std::vector<Names>{{"a1", "b1"}, {"a2"}}));
  EXPECT_EQ(sink.of("b1").kind, Kind::kRetry);
  expect_left(sink, {"b2"});
}

TEST_F(RoundsTest, ASlowHandlerHoldsBackNobodysEnding) {
  std::size_t finished_meanwhile = 0;
  handle([&](const Message& m) {
    if (m.key().text != "b2") return done();
    environment_.clock.advance(milliseconds(50));
    monitor_.tick();
    finished_meanwhile = monitor_.finished.size();
    return done();
  });
  EXPECT_EQ(process_lines({"a1", "a2", "b1", "b2"}).count(Kind::kDone), 4U);
  EXPECT_EQ(finished_meanwhile, 3U);
}

TEST_F(RoundsTest, OnlyHandlersThatHaveReturnedAtTheirEndTakeFollowers) {
  const auto takes = [&] { return make_strategy(kStateMachine, context_)->takes_followers(); };
  EXPECT_TRUE(takes());
  context_.steps.emplace();
  EXPECT_FALSE(takes());
  context_.steps.reset();
  context_.apply = [](const Message&, const Bytes&, Transaction&) { return done(); };
  EXPECT_FALSE(takes());
  context_.apply = nullptr;
  context_.handler =
      AsyncHandler([](const Message&, const Attempt&, Completion end) { end(done()); });
  EXPECT_FALSE(takes());
  context_.handler = TransactionalHandler(effect);
  EXPECT_FALSE(takes());
}

// A claim that was refused has a lease as well where its message would be parked.
TEST_F(RoundsTest, OneThatIsTooOldAndStandsBehindARetryIsAsIfItHadNotBeenClaimed) {
  using std::chrono::days;
  store_.has_transactions = false;
  take_facets();
  const StoreTime now{days(100)};
  context_.age_gate = std::make_shared<AgeGate>(
      *core::age_limit_of(days(8), core::TooOld::kPark),
      [now]() -> Result<StoreTime> { return now; }, environment_.clock);
  context_.age_gate->note(Horizon{days(4), "a topic", true});
  handle([](const Message&) { return retry("later"); });
  auto batch = lines({"a1", "a2", "b1"});
  batch[1].arrival.broker_time = now - days(9);
  batch[2].arrival.broker_time = now - days(9);
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(sink.of("a1").kind, Kind::kRetry);
  expect_left(sink, {"a2"});
  expect_untried({"a2"});
  EXPECT_EQ(sink.of("b1").kind, Kind::kParked) << "the gate judges";
}

TEST_F(RoundsTest, OneThatIsTakenOverIsKeptAsASuspectWithThoseBehindIt) {
  process_lines({"a1"});
  faults_.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  process_lines({"a2"});
  faults_.clear();
  store_.now += std::chrono::seconds(1);
  handled_.clear();
  keep_suspects();
  auto batch = lines({"a1", "a2", "a3"});
  const auto sink = process(kStateMachine, batch);
  EXPECT_EQ(sink.of("a1").kind, Kind::kDuplicate);
  expect_left(sink, {"a2", "a3"});
  EXPECT_TRUE(batch[1].arrival.suspect);
  EXPECT_FALSE(batch[2].arrival.suspect);
  EXPECT_TRUE(handled_.empty());
}

}  // namespace
}  // namespace semel::strategies
