// The duties of every strategy, and the promises of each.
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include <semel/reason.h>

#include "tests/conformance/strategy_suite.h"

namespace semel::conformance {
namespace {

using std::chrono::milliseconds;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;
using test::StoreCall;
using test::When;

TEST_P(StrategySuite, TheSameMessageTwice) {
  const auto one = strategy();
  const auto first = deliver(*one, batch(keys(10)));
  EXPECT_EQ(count(first, Kind::kDone), 10U);
  const auto second = deliver(*one, batch(keys(10)));
  const bool natural = GetParam().kind == StrategyKind::kNatural;
  EXPECT_EQ(count(second, natural ? Kind::kDone : Kind::kDuplicate), 10U);
  EXPECT_EQ(effects(), natural ? 20 : 10);
}

// As after a change of strategy: natural and query know nothing of a record that waits.
TEST_P(StrategySuite, ARetryThatAnEarlierStrategyHasLeftIsHandledOnce) {
  const auto left = batch(keys(3));
  for (const core::TrackedDelivery& delivery : left) {
    const Message* const message = &delivery.message;
    ClaimOptions options;
    options.lease = kLongLease;
    const Claim claim = inner_->claim({&message, 1}, options).value().at(0);
    ASSERT_TRUE(std::holds_alternative<Acquired>(claim));
    const Finish retry = test::retrying(std::get<Acquired>(claim).lease, milliseconds(0), message);
    ASSERT_EQ(inner_->finish({&retry, 1}).value().at(0), Applied::kYes);
  }
  const auto one = strategy();
  const auto held = deliver_held(*one);
  EXPECT_EQ(count(held, Kind::kDone), 3U);
  EXPECT_EQ(effects(), 3);
  for (const auto& key : keys(3)) EXPECT_EQ(runs(key), 1) << key;
}

// A person mends a dead letter: its first delivery, when it comes again, is the same message. It is
// neither handled as it was nor given up once more.
TEST_P(StrategySuite, TheOriginalOfAnEditedLetterIsADuplicateOfIt) {
  if (!GetParam().has_records()) return;
  std::set<Bytes> handled;
  std::mutex mutex;
  const auto one = strategy([&](const Message& message, Transaction*) -> std::optional<Verdict> {
    const std::scoped_lock lock(mutex);
    handled.insert(Bytes(message.payload()));
    if (message.payload() == "old") return dead("it cannot be read");
    return std::nullopt;
  });
  ASSERT_EQ(last(deliver(*one, batch({"k"}, "old")), "k").kind, Kind::kDead);
  handled.clear();
  const DeadLetter letter = dead_letters().at(0);
  LetterEdit edit;
  edit.id = letter.id;
  edit.before = letter.fingerprint;
  edit.payload_before = inner_->facets().dead_letters->show(letter.id).value()->payload;
  edit.payload = "mended";
  edit.fingerprint = test::fingerprint_for("mended");
  ASSERT_EQ(inner_->facets().dead_letters->edit(edit).value(), Edited::kYes);

  const auto while_dead = process(*one, batch({"k"}, "old"));
  EXPECT_EQ(last(while_dead, "k").kind, Kind::kDead);
  EXPECT_TRUE(last(while_dead, "k").closed_before);
  ASSERT_EQ(inner_->facets().dead_letters->replay({&letter.id, 1})->replayed, 1U);
  const auto while_due = process(*one, batch({"k"}, "old"));
  EXPECT_EQ(last(while_due, "k").kind, Kind::kRetry);
  EXPECT_EQ(last(while_due, "k").settle, Settle::kAck) << "the store holds what is handled";
  EXPECT_TRUE(handled.empty());
  EXPECT_EQ(last(deliver_held(*one), "k").kind, Kind::kDone);
  EXPECT_EQ(last(process(*one, batch({"k"}, "old")), "k").kind, Kind::kDuplicate);
  EXPECT_EQ(effects("k"), 1);
  EXPECT_EQ(handled, std::set<Bytes>{"mended"});
  EXPECT_EQ(dead_letters().size(), 1U);
  EXPECT_EQ(last(process(*one, batch({"k"}, "another")), "k").kind, Kind::kConflict)
      << "no other payload is the original";
  EXPECT_EQ(dead_letters().size(), 2U);
}

TEST_P(StrategySuite, OneThatThrowsAmong99CostsNobodyElse) {
  const auto one = strategy([](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text == "k042") throw std::runtime_error("no");
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch(keys(100)));
  EXPECT_EQ(count(outcomes, Kind::kDone), 99U);
  EXPECT_EQ(last(outcomes, "k042").kind, Kind::kRetry);
  EXPECT_EQ(last(outcomes, "k042").settle, Settle::kAck) << "the store holds it";
  EXPECT_EQ(effects(), 99);
  for (const auto& key : keys(100)) EXPECT_EQ(runs(key), 1) << key;
  EXPECT_LE(faults_.calls(StoreCall::kUnitCommit), 1U) << "a throw repeats no transaction";
  EXPECT_LE(faults_.calls(StoreCall::kBegin), 1U);
}

TEST_P(StrategySuite, AThrowForOneInAHundredLosesNothingAndDoublesNothing) {
  std::mutex mutex;
  std::set<Bytes> thrown;
  const auto one = strategy([&](const Message& message, Transaction*) -> std::optional<Verdict> {
    const std::scoped_lock lock(mutex);
    if (std::stoi(message.key().text.substr(1)) % 100 == 7 &&
        thrown.insert(message.key().text).second) {
      throw std::runtime_error("once");
    }
    return std::nullopt;
  });
  for (std::size_t at = 0; at < 500; at += 100) {
    auto all = keys(500);
    deliver(*one, batch({all.begin() + static_cast<std::ptrdiff_t>(at),
                         all.begin() + static_cast<std::ptrdiff_t>(at) + 100}));
  }
  const auto held = deliver_held(*one);
  EXPECT_EQ(thrown.size(), 5U) << "the fault must have fired";
  EXPECT_EQ(count(held, Kind::kDone), 5U);
  for (const auto& key : keys(500)) EXPECT_EQ(effects(key), 1) << key;
  EXPECT_TRUE(dead_letters().empty());
}

TEST_P(StrategySuite, WhatAlwaysFailsIsDeadAfterItsAttempts) {
  const auto one = strategy([](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text == "k001") throw std::runtime_error("never any good");
    return std::nullopt;
  });
  deliver(*one, batch(keys(3)));
  const auto held = deliver_held(*one);
  EXPECT_EQ(runs("k001"), kAttempts);
  EXPECT_EQ(last(held, "k001").kind, Kind::kDead);
  EXPECT_EQ(last(held, "k001").reason, reason::kAttemptsExhausted);
  EXPECT_EQ(last(held, "k001").attempt, kAttempts);
  const auto dead = dead_letters();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].key, "k001");
  EXPECT_EQ(dead[0].attempts, kAttempts);
  EXPECT_NE(dead[0].error.find("never any good"), std::string::npos);
  EXPECT_EQ(effects("k001"), 0);
  EXPECT_EQ(effects(), 2);
}

TEST_P(StrategySuite, ARetryIsHeldByTheStoreAndCompletedFromThere) {
  std::atomic<bool> ready{false};
  const auto one = strategy([&](const Message&, Transaction*) -> std::optional<Verdict> {
    if (!ready) return retry("not yet", milliseconds(1));
    return std::nullopt;
  });
  const auto first = process(*one, batch({"a"}));
  EXPECT_EQ(last(first, "a").kind, Kind::kRetry);
  EXPECT_EQ(last(first, "a").settle, Settle::kAck);
  ready = true;
  const auto held = deliver_held(*one);
  EXPECT_EQ(last(held, "a").kind, Kind::kDone);
  EXPECT_EQ(last(held, "a").attempt, 2);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(StrategySuite, ARowOfTheQueueGoesWithItsRecord) {
  std::vector<OutgoingMessage> queue;
  for (const auto& key : keys(20)) {
    OutgoingMessage message;
    message.key = key;
    message.payload = "{}";
    queue.push_back(std::move(message));
  }
  ASSERT_TRUE(inner_->facets().held->append(consumer_, queue));
  const auto one = strategy();
  const auto outcomes = deliver_held(*one);
  EXPECT_EQ(count(outcomes, Kind::kDone), 20U);
  for (const auto& [key, outcome] : outcomes) {
    if (GetParam().has_records()) {
      EXPECT_EQ(outcome.settle, Settle::kAcked) << key;
    }
  }
  EXPECT_EQ(effects(), 20);
}

TEST_P(StrategySuite, VerdictsBesideDone) {
  const auto one = strategy([](const Message& message, Transaction*) -> std::optional<Verdict> {
    if (message.key().text == "dead") return dead("never");
    if (message.key().text == "discard") return discard("nothing to do");
    if (message.key().text == "large") return done(Bytes(4U << 20U, 'x'));
    if (message.key().text == "payload") {
      throw PayloadInvalid({ErrorKind::kRejected, {}, "no /amount", {}});
    }
    return std::nullopt;
  });
  const auto outcomes = process(*one, batch({"dead", "discard", "large", "payload", "good"}));
  EXPECT_EQ(last(outcomes, "dead").kind, Kind::kDead);
  EXPECT_EQ(last(outcomes, "discard").kind, Kind::kDiscarded);
  EXPECT_EQ(last(outcomes, "large").reason, reason::kTooLarge);
  EXPECT_EQ(last(outcomes, "payload").reason, reason::kPayloadInvalid);
  EXPECT_EQ(last(outcomes, "good").kind, Kind::kDone);
  EXPECT_EQ(dead_letters().size(), 3U);
  EXPECT_EQ(effects(), 1);
}

// Each call of the store fails once, and then always, before it did anything and after.
TEST_P(StrategySuite, AStoreThatFailsAtAnyCallLosesNothing) {
  const bool once = GetParam().once();
  std::size_t fired = 0;
  int number = 0;
  for (const StoreCall call :
       {StoreCall::kBegin, StoreCall::kUnitClaim, StoreCall::kUnitConfirm, StoreCall::kUnitFlush,
        StoreCall::kUnitFinish, StoreCall::kUnitCommit, StoreCall::kClaim, StoreCall::kFinish}) {
    for (const ErrorKind kind :
         {ErrorKind::kUnavailable, ErrorKind::kRetryTransaction, ErrorKind::kBlocked}) {
      for (const bool always : {false, true}) {
        const auto mine = keys(6, "f" + std::to_string(number++) + "_");
        if (always) {
          faults_.fail_always(call, kind, When::kBefore);
        } else {
          faults_.fail(call, 1, kind, When::kBefore);
        }
        const auto one = strategy();
        process(*one, batch(mine));
        fired += faults_.fired(call);
        faults_.clear();
        deliver(*one, batch(mine));
        if (store_->facets().held != nullptr) deliver_held(*one);  // a try that was counted waits
        for (const auto& key : mine) {
          EXPECT_GE(effects(key), 1) << key;
          if (once) {
            EXPECT_EQ(effects(key), 1) << key;
          }
        }
      }
    }
  }
  if (GetParam().has_records() || GetParam().transactional) {
    EXPECT_GT(fired, 0U);
  }
  EXPECT_TRUE(dead_letters().empty());
}

TEST_P(RecordStrategySuite, RaceOfTwoThreads) {
  lease_ = kLongLease;
  const auto one = strategy();
  const auto all = keys(200);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t at = 0; at < all.size(); at += 20) {
        // They meet in the middle of the same keys.
        const std::size_t from = t == 0 ? at : all.size() - 20 - at;
        deliver(*one, batch({all.begin() + static_cast<std::ptrdiff_t>(from),
                             all.begin() + static_cast<std::ptrdiff_t>(from) + 20}));
        deliver(*one, batch({all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(at) + 20}));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& key : all) EXPECT_EQ(effects(key), 1) << key;
}

TEST_P(RecordStrategySuite, RaceOfTwoStoresOnOnePlace) {
  if (!inner_->traits().durable) GTEST_SKIP() << "trait: not durable, so nobody else can open it";
  lease_ = kLongLease;
  const auto other = place_->open();
  const auto number = other->attach({"payments", "test", false, std::nullopt});
  ASSERT_TRUE(number);
  EXPECT_EQ(*number, consumer_);
  const auto here = strategy();
  const auto there = strategy_on(*other);
  const auto all = keys(100);
  std::thread thread([&] {
    for (const auto& key : all) deliver(*there, batch({key}));
  });
  for (const auto& key : all) deliver(*here, batch({key}));
  thread.join();
  for (const auto& key : all) EXPECT_EQ(effects(key), 1) << key;
}

TEST_P(RecordStrategySuite, AKeyWithAnotherPayloadIsADeadLetterAndNoEffect) {
  const auto one = strategy();
  deliver(*one, batch({"a"}));
  for (int i = 0; i < 2; ++i) {
    const auto outcomes = deliver(*one, batch({"a"}, "{\"other\":1}"));
    EXPECT_EQ(last(outcomes, "a").kind, Kind::kConflict);
    EXPECT_EQ(last(outcomes, "a").reason, reason::kKeyConflict);
  }
  EXPECT_EQ(count(deliver(*one, batch({"a"})), Kind::kDuplicate), 1U) << "it stays completed";
  const auto dead = dead_letters();
  ASSERT_EQ(dead.size(), 1U) << "one for each payload";
  EXPECT_EQ(dead[0].reason, reason::kKeyConflict);
  EXPECT_EQ(dead[0].payload.empty(), true) << "listed without payloads";
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(RecordStrategySuite, ADuplicateGetsTheResult) {
  const auto one = strategy();
  EXPECT_EQ(last(deliver(*one, batch({"a"})), "a").result, "result of a");
  EXPECT_EQ(last(deliver(*one, batch({"a"})), "a").result, "result of a");
}

// A retry that falls due while it is asked about may be anything: on a busy machine the test is
// done once more, with a longer delay.
class NotDueMeanwhile {
 public:
  milliseconds delay() const { return delay_; }
  bool passed() const { return std::chrono::steady_clock::now() - begun_ >= delay_; }
  void again() {
    delay_ *= 4;
    begun_ = std::chrono::steady_clock::now();
  }

 private:
  milliseconds delay_{300};
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

TEST_P(RecordStrategySuite, ATwinOfARetryIsNoDuplicateAndTheRetryStays) {
  for (NotDueMeanwhile due;; due.again()) {
    const std::string key = "a" + std::to_string(due.delay().count());
    std::atomic<bool> ready{false};
    const auto one = strategy([&](const Message&, Transaction*) -> std::optional<Verdict> {
      if (!ready) return retry("not yet", due.delay());
      return std::nullopt;
    });
    process(*one, batch({key}));
    const auto twin = process(*one, batch({key}));
    const bool passed = due.passed();
    ready = true;
    const auto later = deliver_held(*one);
    if (passed) continue;
    EXPECT_EQ(last(twin, key).kind, Kind::kRetry);
    EXPECT_EQ(last(twin, key).settle, Settle::kAck);
    EXPECT_EQ(last(later, key).kind, Kind::kDone);
    EXPECT_EQ(effects(key), 1);
    return;
  }
}

// As a Guard leaves it, and the SQL functions: the store keeps no payload.
Lease claimed_by_another(Store& store, const Message& message) {
  const Message* const one = &message;
  const auto claims = store.claim({&one, 1}, {std::chrono::seconds(60), {}, false});
  const auto* const acquired = claims ? std::get_if<Acquired>(&claims->front()) : nullptr;
  EXPECT_NE(acquired, nullptr);
  return acquired != nullptr ? acquired->lease : Lease{};
}

TEST_P(RecordStrategySuite, ARetryThatNobodyHoldsIsGivenBackUntilItIsDue) {
  const auto left = [&](const std::string& key, milliseconds delay) {
    const Lease lease = claimed_by_another(*inner_, batch({key}).front().message);
    const Finish again = test::retrying(lease, delay, nullptr);
    EXPECT_EQ(inner_->finish({&again, 1}).value().front(), Applied::kYes);
  };
  OutgoingMessage queued;
  queued.key = "queued";
  queued.payload = "{}";
  ASSERT_TRUE(inner_->facets().held->append(consumer_, {&queued, 1}));
  left("queued", milliseconds(300));
  left("early", std::chrono::hours(1));
  left("due soon", milliseconds(20));
  const auto one = strategy();
  for (int times = 0; times < 2; ++times) {
    const auto met = process(*one, batch({"early"}));
    EXPECT_EQ(last(met, "early").kind, Kind::kBusy);
    EXPECT_EQ(last(met, "early").settle, Settle::kLater);
    EXPECT_GT(last(met, "early").delay, milliseconds(0));
  }
  EXPECT_EQ(effects("early"), 0);
  const auto outcomes = deliver(*one, batch({"due soon"}));
  EXPECT_EQ(last(outcomes, "due soon").kind, Kind::kDone);
  EXPECT_EQ(last(outcomes, "due soon").attempt, 2);
  EXPECT_EQ(effects("due soon"), 1);
  EXPECT_EQ(last(deliver_held(*one), "queued").kind, Kind::kDone) << "its row is its only copy";
  EXPECT_EQ(effects("queued"), 1);
}

TEST_P(RecordStrategySuite, AParkedMessageThatNobodyHoldsStaysWithItsSource) {
  const auto brought = batch({"a"});
  const Message& message = brought.front().message;
  const Finish park = test::parked(claimed_by_another(*inner_, message), nullptr);
  ASSERT_EQ(inner_->finish({&park, 1}).value().front(), Applied::kYes);
  const auto one = strategy();
  const auto met = process(*one, batch({"a"}));
  EXPECT_EQ(last(met, "a").kind, Kind::kParked);
  EXPECT_EQ(last(met, "a").settle, Settle::kLater);
  EXPECT_EQ(effects("a"), 0);
  ASSERT_TRUE(inner_->facets().records->unlock(message.key().id).value());
  EXPECT_EQ(last(deliver(*one, batch({"a"})), "a").kind, Kind::kDone);
  EXPECT_EQ(effects("a"), 1);
}

TEST_P(RecordStrategySuite, AnAnswerThatWasLostIsResolvedByTheRecord) {
  const bool transactional = GetParam().transactional;
  const StoreCall call = transactional ? StoreCall::kUnitCommit : StoreCall::kFinish;
  int number = 0;
  for (const When when : {When::kAfter, When::kBefore}) {
    bool judged = false;
    for (NotDueMeanwhile due; !judged; due.again()) {
      const auto mine = keys(20, "d" + std::to_string(number++) + "_");
      const auto one =
          strategy([&](const Message& message, Transaction*) -> std::optional<Verdict> {
            if (message.key().text.ends_with("7")) return retry("later", due.delay());
            return std::nullopt;
          });
      const std::size_t before = faults_.fired(call);
      faults_.fail(call, 1, ErrorKind::kInDoubt, when);
      const auto outcomes = process(*one, batch(mine));
      EXPECT_EQ(faults_.fired(call), before + 1);
      judged = !due.passed();
      if (judged) {
        EXPECT_EQ(count(outcomes, Kind::kDone), 18U);
        EXPECT_EQ(count(outcomes, Kind::kRetry), 2U);
        for (const auto& key : mine) {
          EXPECT_EQ(effects(key), key.ends_with("7") ? 0 : 1) << key;
          EXPECT_EQ(runs(key), 1) << key << " ran again";
        }
        const auto depth = inner_->facets().held->depth(consumer_);
        ASSERT_TRUE(depth);
        EXPECT_EQ(depth->rows, 2U) << "neither lost nor held twice";
      }
      const auto good = strategy();
      deliver_held(*good);
      for (const auto& key : mine) EXPECT_EQ(effects(key), 1) << key;
    }
  }
}

TEST_P(LeaseStrategySuite, ALeaseLostUnderASlowHandlerIsAnothersToDecide) {
  std::atomic<int> nested{0};
  std::unique_ptr<strategies::Strategy> other = strategy();
  std::function<void(const Message&)> outlive = [&](const Message& message) {
    if (message.key().text != "slow" || nested++ > 0) return;
    // Nobody renews it: it ends, and another holder takes over while this one still works.
    const auto outcomes = deliver(*other, batch({"slow"}));
    EXPECT_EQ(last(outcomes, "slow").attempt, 2);
  };
  after_effect_ = outlive;
  const auto one = strategy();
  const auto outcomes = process(*one, batch({"slow", "fast"}));
  EXPECT_EQ(last(outcomes, "slow").kind, Kind::kBusy);
  EXPECT_EQ(last(outcomes, "slow").settle, Settle::kLater);
  EXPECT_EQ(observer_.leases_lost(), std::vector<Bytes>({"slow"}));
  EXPECT_EQ(effects("slow"), 2) << "at least once is what this strategy promises";
  EXPECT_EQ(last(deliver(*one, batch({"slow"})), "slow").kind, Kind::kDuplicate);
}

}  // namespace
}  // namespace semel::conformance
