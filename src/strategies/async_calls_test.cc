#include "strategies/async_calls.h"

#include <gtest/gtest.h>

#include <deque>
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
using Settle = Outcome::Settle;

// Runs posted work when the test asks for it.
class HandCompleter final : public Completer {
 public:
  void post(std::function<void()> work) override { posted.push_back(std::move(work)); }
  void answered() noexcept override { ++over; }
  void run() {
    while (!posted.empty()) {
      auto work = std::move(posted.front());
      posted.pop_front();
      work();
    }
  }
  std::deque<std::function<void()>> posted;
  int over = 0;
};

class AsyncCallsTest : public StrategyFixture {
 protected:
  AsyncCallsTest() {
    context_.services.completer = &completer_;
    // Like an outside service: answers when the test asks for it.
    context_.handler =
        AsyncHandler([this](const Message& message, const Attempt& attempt, Completion completion) {
          attempts_.push_back(attempt);
          open_.emplace(message.key().text, std::move(completion));
        });
  }
  void begin(StrategyKind kind, std::vector<core::TrackedDelivery>& deliveries) {
    strategy_ = make_strategy(kind, context_);
    strategy_->process(deliveries, sink_);
  }
  void answer(const std::string& key, Verdict verdict) {
    auto open = open_.extract(key);
    ASSERT_FALSE(open.empty()) << key;
    open.mapped()(std::move(verdict));
  }
  void handle(AsyncHandler handler) { context_.handler = std::move(handler); }

  HandCompleter completer_;
  std::map<std::string, Completion> open_;
  std::vector<Attempt> attempts_;
  RememberingSink sink_;
  std::unique_ptr<Strategy> strategy_;
};

TEST_F(AsyncCallsTest, ACallThatIsOverGivesItsPlaceAwayWhereItEnds) {
  auto deliveries = batch(keys(2));
  begin(StrategyKind::kStateMachine, deliveries);
  answer("k0", done());
  EXPECT_EQ(completer_.over, 1) << "nothing is recorded yet";
  EXPECT_TRUE(deliveries[0].answered);
  EXPECT_FALSE(deliveries[1].answered);
  answer("k1", retry("again"));
  completer_.run();
  EXPECT_EQ(completer_.over, 2);
}

TEST_F(AsyncCallsTest, AllAreBegunBeforeOneIsAnswered) {
  auto deliveries = batch(keys(50));
  begin(StrategyKind::kStateMachine, deliveries);
  EXPECT_EQ(open_.size(), 50U);
  EXPECT_TRUE(sink_.outcomes.empty());
  EXPECT_EQ(monitor_.watched.front().leases, 50U);
  EXPECT_EQ(record_of("k7"), RecordState::kConsuming);
  for (const auto& key : keys(50)) answer(key, done("r" + key));
  EXPECT_TRUE(sink_.outcomes.empty()) << "the record first";
  completer_.run();
  EXPECT_EQ(sink_.count(Kind::kDone), 50U);
  EXPECT_EQ(sink_.of("k7").result, "rk7");
  EXPECT_EQ(record_of("k7"), RecordState::kCompleted);
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 1U) << "recorded together";
  EXPECT_EQ(monitor_.ended, 50);
  EXPECT_EQ(monitor_.finished.size(), 50U);
}

TEST_F(AsyncCallsTest, ASlowCallHoldsBackNobodysEnding) {
  auto deliveries = batch(keys(3));
  begin(StrategyKind::kStateMachine, deliveries);
  answer("k0", done());
  answer("k2", done());
  completer_.run();
  EXPECT_EQ(sink_.count(Kind::kDone), 2U);
  answer("k1", done());
  completer_.run();
  EXPECT_EQ(sink_.count(Kind::kDone), 3U);
}

TEST_F(AsyncCallsTest, EveryVerdictBecomesWhatItSays) {
  auto deliveries = batch({"done", "retry", "dead", "discard"});
  begin(StrategyKind::kStateMachine, deliveries);
  answer("done", done());
  Verdict::Retry again;
  again.reason = "503";
  again.after = milliseconds(70);
  again.code = reason::http_reason("503");
  answer("retry", again);
  Verdict::Dead dead;
  dead.reason = "no such thing";
  dead.code = reason::http_reason("422");
  answer("dead", dead);
  answer("discard", discard("nothing to do"));
  completer_.run();
  EXPECT_EQ(sink_.of("done").kind, Kind::kDone);
  EXPECT_EQ(sink_.of("retry").kind, Kind::kRetry);
  EXPECT_EQ(sink_.of("retry").reason, "handler.http.503");
  EXPECT_EQ(sink_.of("dead").kind, Kind::kDead);
  EXPECT_EQ(sink_.of("dead").reason, "handler.http.422");
  EXPECT_EQ(sink_.of("discard").kind, Kind::kDiscarded);
  EXPECT_EQ(store_.state.dead_letters.size(), 1U);
  EXPECT_EQ(store_.state.held.size(), 1U);
}

TEST_F(AsyncCallsTest, AnUnknownOutcomeIsRemembered) {
  auto deliveries = batch({"a"});
  begin(StrategyKind::kStateMachine, deliveries);
  EXPECT_FALSE(attempts_.back().taken_over);
  Verdict::Retry cut;
  cut.reason = "the connection was cut";
  cut.after = milliseconds(1);
  cut.unknown = true;
  answer("a", cut);
  completer_.run();
  store_.now += std::chrono::seconds(1);
  sink_.outcomes.clear();
  auto again = batch({"a"});
  begin(StrategyKind::kStateMachine, again);
  EXPECT_TRUE(attempts_.back().taken_over);
  EXPECT_EQ(attempts_.back().number, 2);
  EXPECT_EQ(attempts_.back().since_first, milliseconds(1000));
  answer("a", done());
  completer_.run();
}

TEST_F(AsyncCallsTest, ADroppedCompletionIsAnAttemptWithAnUnknownOutcome) {
  auto deliveries = batch({"a"});
  begin(StrategyKind::kStateMachine, deliveries);
  open_.clear();
  completer_.run();
  EXPECT_EQ(sink_.of("a").kind, Kind::kRetry);
  EXPECT_NE(sink_.of("a").error.find("dropped"), std::string::npos);
  EXPECT_TRUE(
      store_.state.records.at(semel::test::make_message(kConsumer, "a").key().id)->outcome_unknown);
}

TEST_F(AsyncCallsTest, WhatIsThrownIsTheAnswerWhereNoneWasGiven) {
  handle([this](const Message& message, const Attempt&, Completion completion) {
    if (message.key().text == "answered") completion(done());
    if (message.key().text == "kept") open_.emplace("kept", std::move(completion));
    throw std::runtime_error("no route");
  });
  auto deliveries = batch({"answered", "kept", "plain"});
  begin(StrategyKind::kStateMachine, deliveries);
  answer("kept", done());  // too late: the exception counts
  completer_.run();
  EXPECT_EQ(sink_.of("answered").kind, Kind::kDone);
  EXPECT_EQ(sink_.of("kept").kind, Kind::kRetry);
  EXPECT_EQ(sink_.of("plain").error, "no route");
  EXPECT_EQ(sink_.outcomes.size(), 3U);
}

TEST_F(AsyncCallsTest, ACompletionIsGivenOnce) {
  handle([](const Message&, const Attempt&, Completion completion) {
    Completion moved = std::move(completion);
    EXPECT_THROW(completion(done()), std::logic_error);  // NOLINT(bugprone-use-after-move)
    moved(done());
    EXPECT_FALSE(moved);
    EXPECT_THROW(moved(dead("twice")), std::logic_error);
  });
  auto deliveries = batch({"a"});
  begin(StrategyKind::kStateMachine, deliveries);
  completer_.run();
  EXPECT_EQ(sink_.of("a").kind, Kind::kDone);
}

TEST_F(AsyncCallsTest, ALateHolderChangesNothing) {
  context_.claim.lease = milliseconds(200);
  auto late = batch({"a"});
  begin(StrategyKind::kStateMachine, late);
  Completion held = std::move(open_.extract("a").mapped());
  store_.now += milliseconds(300);
  RememberingSink other_sink;
  auto other = batch({"a"});
  strategy_->process(other, other_sink);
  held(semel::dead("from the past"));
  completer_.run();
  EXPECT_EQ(sink_.of("a").kind, Kind::kBusy);
  EXPECT_EQ(record_of("a"), RecordState::kConsuming);
  answer("a", done());
  completer_.run();
  EXPECT_EQ(other_sink.of("a").kind, Kind::kDone);
}

TEST_F(AsyncCallsTest, WhatMayNotBeginIsGivenBack) {
  monitor_.stop_at_begin = [](std::size_t lease) { return lease == 1; };
  auto deliveries = batch(keys(3));
  begin(StrategyKind::kStateMachine, deliveries);
  EXPECT_EQ(open_.size(), 2U);
  completer_.run();
  EXPECT_EQ(sink_.of("k1").settle, Settle::kRelease);
  EXPECT_FALSE(store_.state.records[semel::test::make_message(kConsumer, "k1").key().id]);
  answer("k0", done());
  answer("k2", done());
  completer_.run();
}

TEST_F(AsyncCallsTest, WithoutARecordTheyAreAsManyAtATime) {
  auto deliveries = batch(keys(4));
  begin(StrategyKind::kNatural, deliveries);
  EXPECT_EQ(open_.size(), 4U);
  EXPECT_EQ(monitor_.watched.front().leases, 0U);
  for (const auto& key : keys(4)) answer(key, done());
  completer_.run();
  EXPECT_EQ(sink_.count(Kind::kDone), 4U);
  EXPECT_EQ(faults_.calls(StoreCall::kClaim), 0U);
}

class BatchHandlerTest : public StrategyFixture {
 protected:
  void handle(BatchHandler handler) { context_.handler = std::move(handler); }
};

TEST_F(BatchHandlerTest, OneCallAndAVerdictForEach) {
  int calls = 0;
  handle([&](std::span<const Message* const> messages, std::span<const Attempt> attempts) {
    ++calls;
    EXPECT_EQ(attempts.size(), messages.size());
    std::vector<Verdict> verdicts;
    for (const Message* message : messages) {
      verdicts.push_back(message->key().text == "k3" ? semel::dead("bad")
                                                     : done(message->key().text));
    }
    return verdicts;
  });
  const auto first = process(StrategyKind::kStateMachine, keys(10));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(first.count(Kind::kDone), 9U);
  EXPECT_EQ(first.of("k3").kind, Kind::kDead);
  EXPECT_EQ(first.of("k5").result, "k5");
  EXPECT_EQ(faults_.calls(StoreCall::kFinish), 1U);
  const auto second = process(StrategyKind::kStateMachine, keys(10));
  EXPECT_EQ(calls, 1) << "nothing was left to run";
  EXPECT_EQ(second.count(Kind::kDuplicate), 9U);
}

TEST_F(BatchHandlerTest, AnExceptionOrAWrongCountIsAnAttemptOfEach) {
  handle([](std::span<const Message* const>, std::span<const Attempt>) -> std::vector<Verdict> {
    throw std::runtime_error("away");
  });
  const auto thrown = process(StrategyKind::kStateMachine, keys(3));
  EXPECT_EQ(thrown.count(Kind::kRetry), 3U);
  EXPECT_EQ(thrown.of("k1").error, "away");
  handle([](std::span<const Message* const>, std::span<const Attempt>) {
    return std::vector<Verdict>(1, done());
  });
  const auto few = process(StrategyKind::kStateMachine, std::vector<std::string>{"x", "y"});
  EXPECT_EQ(few.count(Kind::kRetry), 2U);
  EXPECT_NE(few.of("x").error.find("1 verdicts for 2"), std::string::npos);
}

TEST_F(BatchHandlerTest, OnlyWhatMayBeginIsInTheCall) {
  std::size_t called = 0;
  handle([&](std::span<const Message* const> messages, std::span<const Attempt>) {
    called = messages.size();
    return std::vector<Verdict>(messages.size(), done());
  });
  monitor_.stop_at_begin = [](std::size_t lease) { return lease == 0; };
  const auto ran = process(StrategyKind::kStateMachine, keys(3));
  EXPECT_EQ(called, 2U);
  EXPECT_EQ(ran.of("k0").settle, Settle::kRelease);
}

}  // namespace
}  // namespace semel::strategies
