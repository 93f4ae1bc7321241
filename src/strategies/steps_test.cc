// Steps: each finished step is remembered, and is undone in reverse order when the message is given
// up.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include <semel/reason.h>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::StoreCall;
using semel::test::When;
using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using Calls = std::vector<std::string>;

// A handler with the steps "lock", "charge" and "mail"; the last one has no undo. `calls` records
// the services' calls by key.
class StepsTest : public StrategyFixture {
 protected:
  StepsTest() {
    context_.retry.jitter = 0;
    context_.handler = PlainHandler([this](const Message& m, const Attempt& attempt) {
      ++tries_;
      return handler_(m, attempt);
    });
    declare({"lock", "charge"}, {"mail"});
  }

  void declare(const std::vector<std::string>& undone, const std::vector<std::string>& kept) {
    StepSpecs specs;
    for (const std::string& name : undone) {
      specs.push_back({name, [this](const Message&, const StepUndo& undo, const Attempt&) {
                         calls_.push_back(undo.key);
                         EXPECT_EQ(undo.result, "did " + undo.name);
                         return undo_(undo);
                       }});
    }
    for (const std::string& name : kept) specs.push_back({name});
    context_.steps = specs;
  }

  Bytes call(const Attempt& attempt, const std::string& name, const Bytes& id = {}) {
    return attempt.step(name, id, [&](const Bytes& key) {
      calls_.push_back(key);
      if (const auto fails = failing_.find(name); fails != failing_.end() && fails->second-- > 0) {
        throw std::runtime_error(name + " is away");
      }
      return "did " + name;
    });
  }
  Verdict all(const Message&, const Attempt& attempt) {
    call(attempt, "lock");
    call(attempt, "charge");
    call(attempt, "mail");
    return last_;
  }

  Outcome once() {
    store_.now += std::chrono::hours(1);
    return process(StrategyKind::kStateMachine, {"o"}).of("o");
  }
  KeyId id() const { return semel::test::make_message(kConsumer, "o").key().id; }
  const StepJournal& journal() { return store_.state.steps[id()]; }
  std::string record_error() { return store_.state.records.at(id())->error; }

  Calls calls_;
  int tries_ = 0;
  std::map<std::string, int> failing_;  // how often a step fails
  Verdict last_ = done("all");
  std::function<Verdict(const Message&, const Attempt&)> handler_ =
      [this](const Message& m, const Attempt& attempt) { return all(m, attempt); };
  std::function<Verdict(const StepUndo&)> undo_ = [](const StepUndo&) { return done(); };
};

TEST_F(StepsTest, AFinishedStepIsNotCalledAgain) {
  failing_["charge"] = 2;
  EXPECT_EQ(once().kind, Kind::kRetry);
  EXPECT_EQ(once().kind, Kind::kRetry);
  EXPECT_EQ(once().kind, Kind::kDone);
  EXPECT_EQ(calls_, (Calls{"o/lock", "o/charge", "o/charge", "o/charge", "o/mail"}));
  EXPECT_TRUE(journal().entries.empty()) << "it ends with the record";
}

TEST_F(StepsTest, StepsOfOneNameAreToldApartByTheirId) {
  std::vector<std::string> order = {"A", "B", "C"};
  handler_ = [&](const Message&, const Attempt& attempt) {
    for (const std::string& item : order) call(attempt, "lock", item);
    return tries_ == 1 ? retry("not yet") : done();
  };
  EXPECT_EQ(once().kind, Kind::kRetry);
  order = {"C", "A", "D", "B"};  // by name and id, not by position
  EXPECT_EQ(once().kind, Kind::kDone);
  EXPECT_EQ(calls_, (Calls{"o/lock=A", "o/lock=B", "o/lock=C", "o/lock=D"}));
}

// Told to stop before a step, such a handler would count as one that did nothing.
TEST_F(StepsTest, WhereNoTryIsRepeatedThereAreNone) {
  context_.steps.reset();
  handler_ = [&](const Message&, const Attempt& attempt) {
    calls_.emplace_back("charged");
    monitor_.stop.request_stop();
    call(attempt, "mail");
    return done();
  };
  for (int i = 0; i < 2; ++i) {
    store_.now += std::chrono::hours(1);
    const Outcome outcome = process(StrategyKind::kAtMostOnce, {"o"}).of("o");
    EXPECT_EQ(outcome.kind, Kind::kParked) << outcome.error;
  }
  EXPECT_EQ(calls_, Calls{"charged"});
}

TEST_F(StepsTest, AHandlerThatSwallowsTheEndOfAStepEndsAllTheSame) {
  handler_ = [&](const Message& m, const Attempt& attempt) {
    try {
      attempt.step("lock", "", [&] {
        store_.state.records.at(m.key().id)->nonce = Nonce{{9}};  // another holder took over
        calls_.emplace_back("lock");
      });
    } catch (...) {
    }
    return done("as if nothing had happened");
  };
  EXPECT_EQ(process(StrategyKind::kStateMachine, {"o"}).of("o").kind, Kind::kBusy);
  EXPECT_TRUE(journal().entries.empty());
}

TEST_F(StepsTest, NoStepBeginsOnceTheHandlerWasToldToStop) {
  handler_ = [&](const Message& m, const Attempt& attempt) {
    call(attempt, "lock");
    monitor_.stop.request_stop();
    return all(m, attempt);
  };
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.reason, reason::kHandlerTimeout);
  EXPECT_EQ(calls_, (Calls{"o/lock"}));
}

TEST_F(StepsTest, GivenUpItsStepsAreUndoneInReverse) {
  last_ = dead("no such customer");
  const Outcome given_up = once();
  EXPECT_EQ(given_up.kind, Kind::kRetry) << "it comes again, to be undone";
  ASSERT_TRUE(journal().giving_up);
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kDead);
  EXPECT_EQ(outcome.reason, reason::kHandlerNative);
  EXPECT_EQ(outcome.error, "no such customer; still done, for it has no undo: mail");
  EXPECT_EQ(calls_, (Calls{"o/lock", "o/charge", "o/mail", "o/charge/undo", "o/lock/undo"}));
  EXPECT_EQ(tries_, 1);
  EXPECT_FALSE(journal().giving_up);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters[0].attempts, 1);
}

TEST_F(StepsTest, WhenTriesAreExhaustedToo) {
  failing_["charge"] = 99;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(once().kind, Kind::kRetry);
  ASSERT_TRUE(journal().giving_up);
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kDead);
  EXPECT_EQ(outcome.reason, reason::kAttemptsExhausted);
  EXPECT_EQ(outcome.error, "handler.native: charge is away");
  EXPECT_EQ(calls_.back(), "o/lock/undo");
  EXPECT_EQ(store_.state.dead_letters.at(0).attempts, 3);
}

TEST_F(StepsTest, AnUndoThatFailsIsTriedAgainByItself) {
  last_ = dead("no");
  once();
  int fails = 2;
  undo_ = [&](const StepUndo& undo) {
    if (undo.name == "lock" && fails-- > 0) throw std::runtime_error("503");
    return done();
  };
  Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.reason, reason::kStepsUndo);
  EXPECT_EQ(outcome.error, "the undo of step lock failed: 503; still done: lock, mail");
  EXPECT_EQ(outcome.delay, milliseconds(100));
  outcome = once();
  EXPECT_EQ(outcome.delay, milliseconds(200)) << "its own tries";
  EXPECT_EQ(once().kind, Kind::kDead);
  EXPECT_EQ(calls_, (Calls{"o/lock", "o/charge", "o/mail", "o/charge/undo", "o/lock/undo",
                           "o/lock/undo", "o/lock/undo"}));
}

TEST_F(StepsTest, AnUndoThatWaitsIsNoLostLeaseWhereTheAnswerWasLostAndNothingIsHeld) {
  context_.hold = false;
  last_ = dead("no");
  undo_ = [](const StepUndo&) { return retry("503"); };
  EXPECT_EQ(once().kind, Kind::kRetry);
  faults_.fail(StoreCall::kFinish, 1, ErrorKind::kInDoubt, When::kAfter);
  const Outcome outcome = once();
  EXPECT_EQ(faults_.fired(StoreCall::kFinish), 1U);
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.settle, Outcome::Settle::kLater);
  EXPECT_GT(outcome.delay, milliseconds(0));
  EXPECT_EQ(record_of("o"), RecordState::kRetrying);
}

TEST_F(StepsTest, AnUndoThatIsGivenUpParksWithWhatIsStillDone) {
  last_ = dead("no");
  once();
  undo_ = [](const StepUndo& undo) { return undo.name == "lock" ? retry("503") : done(); };
  once();
  once();
  Outcome outcome = once();
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(outcome.reason, reason::kStepsUndo);
  EXPECT_EQ(record_error(), "the undo of step lock failed: 503; still done: lock, mail");
  EXPECT_TRUE(store_.state.dead_letters.empty());
  EXPECT_EQ(once().kind, Kind::kParked) << "closed";
  EXPECT_EQ(tries_, 1);
  // An operator lets the undo run again.
  ASSERT_TRUE(spi::decide_unlock(*store_.state.records.at(id()), store_.now));
  outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kRetry) << "with all its tries";
  undo_ = [](const StepUndo&) { return discard("nothing to undo"); };
  EXPECT_EQ(once().kind, Kind::kDead);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
}

Verdict uncounted() {
  Verdict::Retry away;
  away.reason = "nobody listens";
  away.counted = false;
  return away;
}

Verdict nobody_listens(const StepUndo&) { return uncounted(); }

TEST_F(StepsTest, AnUndoWhoseFailuresDoNotCountBacksOffAndIsGivenUpToo) {
  last_ = dead("no");
  once();
  undo_ = nobody_listens;
  int tries = 0;
  milliseconds longest{0};
  while (record_of("o") != RecordState::kParked && tries < 1'000) {
    longest = std::max(longest, once().delay);
    ++tries;
  }
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(tries, 10 * std::max(context_.retry.attempts, 8));
  EXPECT_EQ(longest, context_.retry.longest) << "less and less often";
  EXPECT_EQ(record_error(),
            "the undo of step charge failed: nobody listens; still done: lock, charge, mail");
  // No failure has used up an attempt.
  ASSERT_TRUE(spi::decide_unlock(*store_.state.records.at(id()), store_.now));
  once();
  undo_ = [](const StepUndo&) { return retry("503"); };
  EXPECT_EQ(once().kind, Kind::kRetry);
  EXPECT_EQ(record_of("o"), RecordState::kRetrying);
}

// With a single attempt, a service that is unavailable for a minute would need an operator.
TEST_F(StepsTest, AnUndoHasManyTriesThatDoNotCountHoweverFewItHas) {
  context_.retry.attempts = 1;
  last_ = dead("no");
  once();
  undo_ = nobody_listens;
  int tries = 0;
  while (record_of("o") != RecordState::kParked && tries < 1'000) {
    once();
    ++tries;
  }
  EXPECT_EQ(tries, 80);
}

TEST_F(StepsTest, AnUndoThatSaysDeadParksAtOnce) {
  last_ = dead("no");
  once();
  undo_ = [](const StepUndo&) { return dead("too late to cancel"); };
  once();
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(record_error(),
            "the undo of step charge failed: too late to cancel; still done: lock, charge, mail");
}

TEST_F(StepsTest, ReplayedAfterItWasUndoneItRunsANewUnderNewKeys) {
  last_ = dead("no");
  once();
  once();
  calls_.clear();
  last_ = done();
  ASSERT_TRUE(spi::decide_unlock(*store_.state.records.at(id()), store_.now));
  EXPECT_EQ(once().kind, Kind::kDone);
  EXPECT_EQ(calls_, (Calls{"o/lock/2", "o/charge/2"})) << "what was not undone is not done again";
}

TEST_F(StepsTest, AnOperatorHasTheStepsOfADeadLetterUndone) {
  last_ = dead("no");
  declare({}, {"lock", "charge", "mail"});
  EXPECT_EQ(once().kind, Kind::kDead) << "there is no undo";
  declare({"lock"}, {"charge", "mail"});  // now it has them
  ASSERT_TRUE(store_.facets().steps->give_up(id(), {"operator", "by hand", 1, 0}).value());
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kDead);
  EXPECT_EQ(outcome.reason, reason::kOperator);
  EXPECT_EQ(calls_.back(), "o/lock/undo");
  EXPECT_EQ(tries_, 1);
}

TEST_F(StepsTest, AStepThatTheCodeNoLongerHasParksBeforeAnythingIsDone) {
  failing_["charge"] = 1;
  once();
  declare({"reserve", "charge"}, {"mail"});
  const Outcome outcome = once();
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(outcome.reason, reason::kStepsChanged);
  EXPECT_EQ(record_error(),
            "steps that are done and no longer in the handler: lock; the handler has: reserve, "
            "charge, mail");
  EXPECT_EQ(tries_, 1);
}

TEST_F(StepsTest, AStepThatAnUndeclaredHandlerDoesNotComeToParks) {
  context_.steps.reset();
  failing_["charge"] = 1;
  once();
  handler_ = [&](const Message&, const Attempt& attempt) {
    call(attempt, "charge");
    return done();
  };
  EXPECT_EQ(once().reason, reason::kStepsChanged);
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(record_error(),
            "steps that an earlier try did and this one did not come to: lock; it came to: charge");
}

TEST_F(StepsTest, AnotherInputParks) {
  Bytes input = "5 of A";
  handler_ = [&](const Message&, const Attempt& attempt) {
    attempt.step(
        "lock", "", [&] { calls_.emplace_back("lock"); }, input);
    return tries_ == 1 ? retry("later") : done();
  };
  once();
  input = "6 of A";
  EXPECT_EQ(once().reason, reason::kStepsChanged);
  EXPECT_EQ(calls_, (Calls{"lock"}));
}

TEST_F(StepsTest, AHandlerWithoutStepsParksWhatOneWithStepsBegan) {
  failing_["charge"] = 1;
  once();
  context_.handler = TransactionalHandler(effect);
  context_.steps.reset();
  EXPECT_EQ(once().reason, reason::kStepsChanged);
  EXPECT_EQ(effects("o"), 0);
  EXPECT_EQ(record_of("o"), RecordState::kParked);
}

TEST_F(StepsTest, WhatATryThatDidNotCountHasDoneIsLookedAtToo) {
  declare({}, {"lock", "charge"});
  handler_ = [&](const Message&, const Attempt& attempt) {
    EXPECT_EQ(attempt.number, 1);
    call(attempt, "lock");
    return uncounted();
  };
  once();
  declare({}, {"reserve", "charge"});
  EXPECT_EQ(once().reason, reason::kStepsChanged);
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(calls_, (Calls{"o/lock"}));
}

TEST_F(StepsTest, AHandlerWithoutStepsParksWhatATryThatDidNotCountBegan) {
  handler_ = [&](const Message&, const Attempt& attempt) {
    call(attempt, "lock");
    return uncounted();
  };
  once();
  context_.handler = TransactionalHandler(effect);
  context_.steps.reset();
  EXPECT_EQ(once().reason, reason::kStepsChanged);
  EXPECT_EQ(effects("o"), 0);
  EXPECT_EQ(record_of("o"), RecordState::kParked);
}

TEST_F(StepsTest, AStoreThatIsAwayWhileStepsAreUndoneDoesNotHideTheReason) {
  context_.retry.max_elapsed = std::chrono::minutes(1);
  last_ = dead("no such customer");
  once();
  const Error away{ErrorKind::kLimit, "R205", "the disk is full", {}};
  store_.journal_error = away;
  EXPECT_EQ(once().reason, reason::kStoreUnavailable) << "its journal cannot be read";
  store_.journal_error.reset();
  undo_ = [&](const StepUndo&) {
    store_.journal_error = away;
    return done();
  };
  const Outcome waits = once();
  EXPECT_EQ(waits.kind, Kind::kRetry) << "the undone step cannot be noted";
  EXPECT_GT(waits.delay, milliseconds(0));
  store_.journal_error.reset();
  undo_ = [](const StepUndo&) { return done(); };
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kDead);
  EXPECT_EQ(outcome.reason, reason::kHandlerNative);
  ASSERT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.dead_letters[0].attempts, 1);
}

TEST_F(StepsTest, ASecondPartThatSaysDeadUndoesToo) {
  context_.apply = [](const Message&, const Bytes& answer, Transaction&) {
    EXPECT_EQ(answer, "all");
    return dead("no such order");
  };
  EXPECT_EQ(once().kind, Kind::kRetry);
  EXPECT_EQ(once().kind, Kind::kDead);
  EXPECT_EQ(calls_, (Calls{"o/lock", "o/charge", "o/mail", "o/charge/undo", "o/lock/undo"}));
  EXPECT_EQ(store_.state.dead_letters.at(0).reason, reason::kHandlerNative);
}

TEST_F(StepsTest, ASecondPartThatFailsCallsNoStepAgain) {
  int tries = 0;
  context_.apply = [&](const Message& m, const Bytes&, Transaction& tx) {
    make_effect(m, tx);
    return ++tries == 1 ? retry("locked") : done();
  };
  EXPECT_EQ(once().kind, Kind::kRetry);
  EXPECT_EQ(once().kind, Kind::kDone);
  EXPECT_EQ(calls_, (Calls{"o/lock", "o/charge", "o/mail"}));
  EXPECT_EQ(effects("o"), 1);
}

TEST_F(StepsTest, OneThatEndedTheProcessIsUndoneAndParkedWhereItEndsItAgain) {
  failing_["charge"] = 1;
  once();
  Context working = context_;
  context_.gives_up = true;
  context_.dead_reason = reason::kCrash;
  context_.handler = PlainHandler([](const Message&, const Attempt&) { return dead("it died"); });
  EXPECT_EQ(once().kind, Kind::kRetry);
  ASSERT_TRUE(journal().giving_up);
  EXPECT_EQ(once().kind, Kind::kParked);
  EXPECT_EQ(record_of("o"), RecordState::kParked);
  EXPECT_EQ(record_error(), "the process died while its steps were undone; still done: lock");
  ASSERT_TRUE(spi::decide_unlock(*store_.state.records.at(id()), store_.now));
  context_ = working;
  EXPECT_EQ(once().reason, reason::kCrash);
  EXPECT_EQ(calls_.back(), "o/lock/undo");
  EXPECT_EQ(record_of("o"), RecordState::kDead);
}

TEST_F(StepsTest, ANameThatIsNotDeclaredIsTheHandlersError) {
  handler_ = [&](const Message&, const Attempt& attempt) {
    call(attempt, "parcel");
    return done();
  };
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_NE(outcome.error.find("none of those that were declared"), std::string::npos);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(StepsTest, ANameThatIsNotDeclaredFailsAHandlerThatSwallowsItToo) {
  handler_ = [&](const Message&, const Attempt& attempt) {
    try {
      call(attempt, "parcel");
    } catch (...) {
    }
    return done();
  };
  EXPECT_EQ(once().kind, Kind::kRetry);
}

TEST_F(StepsTest, AResultThatCannotBeKeptIsNamedAndItsStepUndone) {
  context_.limits.result = 4;
  undo_ = [](const StepUndo&) { return done(); };
  const Outcome outcome = once();
  EXPECT_EQ(outcome.kind, Kind::kRetry);
  EXPECT_EQ(outcome.reason, reason::kTooLarge);
  ASSERT_EQ(journal().entries.size(), 1U);
}

}  // namespace
}  // namespace semel::strategies
