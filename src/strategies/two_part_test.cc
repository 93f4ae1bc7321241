// Two-part handlers: an outside call, then statements that commit with the record.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using semel::test::StoreCall;
using semel::test::When;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;

class NowCompleter final : public Completer {
 public:
  void post(std::function<void()> work) override { work(); }
};

class TwoPartTest : public StrategyFixture {
 protected:
  TwoPartTest() {
    context_.services.completer = &completer_;
    context_.handler = PlainHandler([this](const Message& message, const Attempt& attempt) {
      EXPECT_EQ(attempt.taken_over, called_[message.key().text] > 0);
      ++called_[message.key().text];
      return call_(message);
    });
    context_.apply = [this](const Message& message, const Bytes& answer, Transaction& tx) {
      ++applied_[message.key().text];
      EXPECT_EQ(answer, "answer " + message.key().text);
      make_effect(message, tx);
      return apply_(message);
    };
  }
  static Verdict well(const Message& message) { return done("answer " + message.key().text); }

  NowCompleter completer_;
  std::map<std::string, int> called_;
  std::map<std::string, int> applied_;
  std::function<Verdict(const Message&)> call_ = well;
  std::function<Verdict(const Message&)> apply_ = [](const Message&) { return done(); };
};

TEST_F(TwoPartTest, TheAnswerGoesToTheSecondPartWhichCommitsWithTheRecord) {
  const auto first = process(kStateMachine, keys(10));
  EXPECT_EQ(first.count(Kind::kDone), 10U);
  EXPECT_EQ(first.of("k3").result, "answer k3");
  EXPECT_EQ(effects("k3"), 1);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U) << "one transaction for them all";
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 0U);
  EXPECT_EQ(first.waits_seen, (std::vector<bool>{true, false})) << "for its turn to commit";
  const auto second = process(kStateMachine, keys(10));
  EXPECT_EQ(second.count(Kind::kDuplicate), 10U);
  EXPECT_EQ(second.of("k3").result, "answer k3");
  EXPECT_EQ(called_["k3"], 1);
}

TEST_F(TwoPartTest, ACallThatFailsHasNoSecondPart) {
  call_ = [](const Message& message) {
    return message.key().text == "k1" ? retry("503") : well(message);
  };
  const auto ran = process(kStateMachine, keys(3));
  EXPECT_EQ(ran.count(Kind::kDone), 2U);
  EXPECT_EQ(ran.of("k1").kind, Kind::kRetry);
  EXPECT_EQ(applied_.count("k1"), 0U);
  EXPECT_EQ(effects("k1"), 0);
}

TEST_F(TwoPartTest, ASecondPartThatSaysRetryCallsAgain) {
  apply_ = [this](const Message& message) {
    return applied_[message.key().text] == 1 ? retry("not yet") : done("its own");
  };
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kRetry);
  EXPECT_EQ(effects("a"), 0);
  store_.now += std::chrono::seconds(1);
  const auto again = process(kStateMachine, {"a"});
  EXPECT_EQ(again.of("a").kind, Kind::kDone);
  EXPECT_EQ(again.of("a").result, "its own");
  EXPECT_EQ(called_["a"], 2);
  EXPECT_EQ(effects("a"), 1);
}

TEST_F(TwoPartTest, ASecondPartThatSaysDeadLeavesADeadLetter) {
  apply_ = [](const Message&) { return dead("no such order"); };
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kDead);
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
  const auto record = store_.state.records.at(semel::test::make_message(kConsumer, "a").key().id);
  EXPECT_TRUE(record->outcome_unknown) << "the call was made";
}

TEST_F(TwoPartTest, ATransactionThatIsTriedAgainDoesNotCallAgain) {
  faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kRetryTransaction, When::kBefore);
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kDone);
  EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), 1U);
  EXPECT_EQ(called_["a"], 1);
  EXPECT_EQ(effects("a"), 1);
}

// The call was made, so stopping now would only repeat it.
TEST_F(TwoPartTest, AStopAfterTheCallDoesNotKeepTheSecondPart) {
  monitor_.stop_at_begin = [this](std::size_t) { return monitor_.begun > 1; };
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
  EXPECT_EQ(called_["a"], 1);
}

TEST_F(TwoPartTest, WhatIsGivenBackAfterItsCallMayHaveHadItsEffect) {
  faults_.fail_always(StoreCall::kUnitCommit, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kRetry);
  faults_.clear();
  const auto record = store_.state.records.at(semel::test::make_message(kConsumer, "a").key().id);
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->outcome_unknown);
}

TEST_F(TwoPartTest, NothingIsAppliedUnderALeaseThatWasLost) {
  context_.claim.lease = milliseconds(200);
  bool taken = false;
  call_ = [&](const Message& message) {
    if (!std::exchange(taken, true)) {
      store_.now += milliseconds(300);
      // Another holder takes the record over and keeps it.
      const Message* const one = &message;
      EXPECT_TRUE(
          std::holds_alternative<Acquired>(store_.claim({&one, 1}, context_.claim)->front()));
    }
    return well(message);
  };
  EXPECT_EQ(process(kStateMachine, {"a"}).of("a").kind, Kind::kBusy);
  EXPECT_EQ(effects("a"), 0);
  EXPECT_EQ(record_of("a"), RecordState::kConsuming);
}

// The monitor's thread renews leases and detects hanging handlers; a second part might make it
// hang.
TEST_F(TwoPartTest, WhileAHandlerRunsTheCompleterAppliesAndNotTheKeeper) {
  std::vector<std::function<void()>> posted;
  class HandCompleter final : public Completer {
   public:
    explicit HandCompleter(std::vector<std::function<void()>>& to) : posted_(to) {}
    void post(std::function<void()> work) override { posted_.push_back(std::move(work)); }

   private:
    std::vector<std::function<void()>>& posted_;
  } by_hand(posted);
  context_.services.completer = &by_hand;
  std::size_t after_tick = 0;
  std::size_t after_post = 0;
  std::function<void()> tick;
  call_ = [&](const Message& message) {
    if (message.key().text == "k0") tick = monitor_.tick;
    if (message.key().text == "k2") {
      environment_.clock.advance(milliseconds(50));
      tick();
      tick();
      after_tick = applied_.size();
      EXPECT_EQ(posted.size(), 1U) << "once for both";
      if (!posted.empty()) posted.front()();
      after_post = applied_.size();
    }
    if (message.key().text == "k4") {
      environment_.clock.advance(milliseconds(50));
      tick();
    }
    return well(message);
  };
  EXPECT_EQ(process(kStateMachine, keys(5)).count(Kind::kDone), 5U);
  EXPECT_EQ(after_tick, 0U);
  EXPECT_EQ(after_post, 2U) << "while the third handler ran";
  ASSERT_EQ(posted.size(), 2U);
  posted.back()();  // there is nothing left to do
  EXPECT_EQ(applied_,
            (std::map<std::string, int>{{"k0", 1}, {"k1", 1}, {"k2", 1}, {"k3", 1}, {"k4", 1}}));
}

TEST_F(TwoPartTest, AsynchronousCallsOfSeveralBatchesAreAppliedTogether) {
  std::map<std::string, Completion> open;
  context_.handler = AsyncHandler([&](const Message& message, const Attempt&, Completion c) {
    open.emplace(message.key().text, std::move(c));
  });
  class HandCompleter final : public Completer {
   public:
    void post(std::function<void()> work) override { posted = std::move(work); }
    std::function<void()> posted;
  } by_hand;
  context_.services.completer = &by_hand;
  const auto strategy = make_strategy(kStateMachine, context_);
  RememberingSink first_sink;
  RememberingSink second_sink;
  auto first = batch({"a", "b"});
  auto second = batch({"c", "d"});
  strategy->process(first, first_sink);
  strategy->process(second, second_sink);
  for (const char* key : {"a", "c", "d"}) {
    open.extract(key).mapped()(done("answer " + std::string(key)));
  }
  open.extract("b").mapped()(dead("never"));
  by_hand.posted();
  EXPECT_EQ(first_sink.of("a").kind, Kind::kDone);
  EXPECT_EQ(first_sink.of("b").kind, Kind::kDead);
  EXPECT_EQ(second_sink.count(Kind::kDone), 2U);
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U);
  EXPECT_EQ(effects("d"), 1);
}

}  // namespace
}  // namespace semel::strategies
