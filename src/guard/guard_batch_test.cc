// Many messages in one transaction, or under leases claimed together.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include <semel/guard.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "tests/conformance/strategy/scripted_store.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/test_environment.h"

namespace semel::guard {
namespace {

using std::chrono::milliseconds;
using strategies::ScriptedStore;
using test::StoreCall;
using test::When;
using Ended = Outcome::Kind;
using Answered = std::vector<Result<Outcome>>;

const Fingerprint kOne = fingerprint_of("one");
const Fingerprint kOther = fingerprint_of("other");

GuardOptions shipments() {
  GuardOptions options;
  options.consumer = "shipments";
  return options;
}

std::vector<Ended> kinds(const Answered& answers) {
  std::vector<Ended> all;
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer) << answer.error().message;
    all.push_back(answer ? answer->kind : Ended::kParked);
  }
  return all;
}

// The texts that they were made from are gone by then.
TEST(BatchMessageTest, HasItsOwnKey) {
  ScriptedStore store;
  Guard guard(store, shipments());
  std::vector<BatchMessage> messages;
  for (int i = 0; i < 3; ++i) {
    const std::string id = "a key too long for a small string, number " + std::to_string(i);
    messages.push_back({id, kOne});
  }
  EXPECT_EQ(kinds(guard.run_batch(messages, [](std::size_t) {})),
            std::vector<Ended>(3, Ended::kDone));
}

class GuardBatchTest : public ::testing::Test {
 protected:
  GuardBatchTest()
      : faulty_(test::make_fault_store(store_, faults_)), guard_(*faulty_, shipments()) {}

  // Each makes the effect of its key, after calling `before`.
  template <class Before>
  Answered run(const std::vector<BatchMessage>& messages, Before before) {
    return guard_.run_batch(messages, [&](std::size_t i, Transaction& tx) {
      ++calls_;
      tx.exec("INSERT INTO effect VALUES (?)", messages[i].key);
      return before(messages[i].key, tx);
    });
  }
  Answered run(const std::vector<BatchMessage>& messages) {
    return run(messages, [](BytesView key, Transaction&) { return done("r:" + Bytes(key)); });
  }

  ScriptedStore store_;
  test::FaultPlan faults_;
  std::unique_ptr<Store> faulty_;
  Guard guard_;
  int calls_ = 0;
};

TEST_F(GuardBatchTest, OneTransactionForAllAndAnswersInTheirOrder) {
  const std::vector<BatchMessage> messages{{"c", kOne}, {"a", kOne}, {"b", kOne}};
  const Answered first = run(messages);
  EXPECT_EQ(kinds(first), std::vector<Ended>(3, Ended::kDone));
  EXPECT_EQ(store_.claimed_count, std::vector<std::size_t>{3});
  EXPECT_EQ(faults_.calls(StoreCall::kUnitCommit), 1U);
  const Answered second = run({{"b", kOne}, {"new", kOne}, {"c", kOne}, {"a", kOther}});
  EXPECT_EQ(kinds(second),
            (std::vector{Ended::kDuplicate, Ended::kDone, Ended::kDuplicate, Ended::kConflict}));
  EXPECT_EQ(second[0]->result, "r:b");
  EXPECT_EQ(second[2]->result, "r:c");
  EXPECT_EQ(second[3]->settle, Outcome::Settle::kLater);
  EXPECT_EQ(store_.claimed_count, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(store_.state.effects.size(), 4U);
  EXPECT_EQ(calls_, 4);
  EXPECT_TRUE(run({}).empty());
}

TEST_F(GuardBatchTest, TwinsOfABatchAnswerAsTheyWouldAfterEachOther) {
  const Answered answers =
      run({{"a", kOne}, {"b", kOne}, {"a", kOther}, {"a", kOne}, {"b", kOne}, {"a", kOther}});
  EXPECT_EQ(kinds(answers), (std::vector{Ended::kDone, Ended::kDone, Ended::kConflict,
                                         Ended::kDuplicate, Ended::kDuplicate, Ended::kConflict}));
  EXPECT_EQ(answers[3]->result, "r:a");
  EXPECT_EQ(answers[4]->result, "r:b");
  EXPECT_EQ(store_.claimed_count, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(calls_, 2);
}

TEST_F(GuardBatchTest, WhatFailsLeavesNothingAndTheOthersSucceedBesideIt) {
  const auto work = [](BytesView key, Transaction& tx) {
    if (key == "throws") throw std::domain_error("the work's own");
    if (key == "later") return retry("not yet", milliseconds(40));
    if (key == "never") return dead("no such order");
    if (key == "breaks") tx.exec("UPDATE broken SET x = 1");
    if (key == "asks") tx.query("SELECT broken");
    if (key == "taken") {
      tx.exec("INSERT INTO taken VALUES (1)").on_unique_violation("taken(id)", dead("sold"));
    }
    return done();
  };
  const std::vector<BatchMessage> messages{{"g1", kOne},     {"throws", kOne}, {"g2", kOne},
                                           {"later", kOne},  {"never", kOne},  {"breaks", kOne},
                                           {"g3", kOne},     {"asks", kOne},   {"taken", kOne},
                                           {"throws", kOne}, {"g4", kOne},     {"never", kOne}};
  const std::vector expected{Ended::kDone, Ended::kRetry, Ended::kDone, Ended::kRetry,
                             Ended::kDead, Ended::kRetry, Ended::kDone, Ended::kRetry,
                             Ended::kDead, Ended::kRetry, Ended::kDone, Ended::kDead};
  for (const bool undoes_all : {false, true}) {
    store_.state = {};
    store_.always_undoes_all = undoes_all;
    const Answered answers = run(messages, work);
    EXPECT_EQ(kinds(answers), expected);
    EXPECT_EQ(answers[1]->error, "the work's own");
    EXPECT_EQ(answers[3]->delay, milliseconds(40));
    EXPECT_EQ(answers[5]->reason, reason::sql_reason("constraint"));
    EXPECT_EQ(answers[8]->error, "sold");
    EXPECT_TRUE(answers[11]->closed_before);
    for (const auto& [name, count] : store_.state.effects) {
      EXPECT_TRUE(name.starts_with("g")) << name;
      EXPECT_EQ(count, 1) << name;
    }
    EXPECT_EQ(store_.state.effects.size(), 4U);
  }
  EXPECT_EQ(kinds(run({{"throws", kOne}, {"later", kOne}, {"never", kOne}})),
            (std::vector{Ended::kDone, Ended::kDone, Ended::kDead}));
}

TEST_F(GuardBatchTest, AKeyThatCannotBeCostsNoNeighbour) {
  const Bytes long_key(100'000, 'k');
  const Answered answers = run({{"a", kOne}, {"", kOne}, {long_key, kOne}, {"b", kOne}});
  EXPECT_EQ(kinds(answers), (std::vector{Ended::kDone, Ended::kDead, Ended::kDead, Ended::kDone}));
  EXPECT_EQ(answers[1]->reason, reason::kKeyInvalid);
  EXPECT_EQ(answers[2]->reason, reason::kTooLarge);
  EXPECT_EQ(store_.state.effects.size(), 2U);
  EXPECT_EQ(store_.claimed_count, std::vector<std::size_t>{2});
  EXPECT_EQ(kinds(run({{"", kOne}, {"", kOther}})), std::vector<Ended>(2, Ended::kDead));
  EXPECT_EQ(store_.claimed_count.size(), 1U) << "the store was not asked about them";
}

TEST_F(GuardBatchTest, AStoreThatFailsIsAnErrorForEachAndNothingRan) {
  for (const StoreCall call : {StoreCall::kBegin, StoreCall::kUnitClaim}) {
    faults_.fail_always(call, ErrorKind::kUnavailable, When::kBefore);
    const Answered answers = run({{"a", kOne}, {"b", kOne}, {"a", kOne}});
    EXPECT_GT(faults_.fired(call), 0U);
    ASSERT_EQ(answers.size(), 3U);
    for (const auto& answer : answers) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
    }
    faults_.clear();
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(GuardBatchTest, ACommitInDoubtIsAskedAboutAndElseNamed) {
  for (const When when : {When::kAfter, When::kBefore}) {
    store_.state = {};
    const std::size_t before = faults_.fired(StoreCall::kUnitCommit);
    faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, when);
    EXPECT_EQ(kinds(run({{"a", kOne}, {"b", kOne}})), std::vector<Ended>(2, Ended::kDone));
    EXPECT_EQ(faults_.fired(StoreCall::kUnitCommit), before + 1);
    EXPECT_EQ(store_.state.effects["a"], 1);
  }
  store_.state = {};
  faults_.clear();
  faults_.fail(StoreCall::kUnitCommit, 1, ErrorKind::kInDoubt, When::kAfter);
  for (std::size_t n = 2; n < 40; ++n) {
    faults_.fail(StoreCall::kBegin, n, ErrorKind::kUnavailable, When::kBefore);
  }
  for (const auto& answer : run({{"a", kOne}, {"b", kOne}})) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::kInDoubt);
  }
  faults_.clear();
  EXPECT_EQ(kinds(run({{"a", kOne}, {"b", kOne}})), std::vector<Ended>(2, Ended::kDuplicate));
}

// A batch of any kind has the same results as its messages one by one.
TEST(GuardBatchRandom, ABatchAnswersAsItsMessagesOneByOne) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    test::SeededRandom random(seed);
    ScriptedStore together;
    ScriptedStore alone;
    together.sparse_undoes_all = random.below(2) == 0;
    Guard batches(together, shipments());
    Guard singles(alone, shipments());
    for (int round = 0; round < 4; ++round) {
      std::vector<Bytes> keys;
      std::vector<BatchMessage> messages;
      for (std::size_t i = 0; i < 20; ++i) keys.push_back("k" + std::to_string(random.below(14)));
      for (const Bytes& key : keys) {
        messages.push_back({key, random.below(6) == 0 ? kOther : kOne});
      }
      const auto work = [&](const Bytes& key, Transaction& tx) {
        tx.exec("INSERT INTO effect VALUES (?)", key);
        if (key == "k1") throw std::domain_error("no");
        if (key == "k2") return retry("not yet");
        if (key == "k3") return dead("never");
        if (key == "k4") tx.exec("UPDATE broken SET x = 1");
        if (key == "k5") tx.query("SELECT effects");
        if (key == "k6") return discard("nothing to do");
        return done("r:" + key);
      };
      const Answered answers = batches.run_batch(
          messages, [&](std::size_t i, Transaction& tx) { return work(keys[i], tx); });
      std::vector<Ended> expected;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        try {
          const auto one = singles.run_once(messages[i].key, messages[i].fingerprint,
                                            [&](Transaction& tx) { return work(keys[i], tx); });
          expected.push_back(one.value().kind);
          EXPECT_EQ(answers[i]->result, one->result) << keys[i];
        } catch (const std::exception&) {
          expected.push_back(Ended::kRetry);
        }
      }
      EXPECT_EQ(kinds(answers), expected);
      EXPECT_EQ(together.state.effects, alone.state.effects);
    }
  }
}

TEST(GuardBatchOnMemory, PlainWorkIsClaimedTogetherAndRecordedTogether) {
  test::ManualClock clock;  // no ending waits long enough to be recorded alone
  const test::SystemClock system_clock(clock);
  const auto inner = make_memory_store();
  test::FaultPlan plan;
  const auto store = test::make_fault_store(*inner, plan);
  Guard guard(*store, shipments());
  std::vector<BatchMessage> messages{{"a", kOne}, {"b", kOne}, {"c", kOne}, {"a", kOne}};
  std::vector<std::size_t> ran;
  const auto first = guard.run_batch(messages, [&](std::size_t i) {
    ran.push_back(i);
    if (i == 1) throw std::domain_error("away");
  });
  EXPECT_EQ(kinds(first),
            (std::vector{Ended::kDone, Ended::kRetry, Ended::kDone, Ended::kDuplicate}));
  EXPECT_EQ(plan.calls(StoreCall::kClaim), 1U);
  EXPECT_EQ(plan.calls(StoreCall::kFinish), 1U);
  const auto second = guard.run_batch(messages, [&](std::size_t i, const Attempt& attempt) {
    EXPECT_NE(attempt.token, Token{});
    ran.push_back(i);
  });
  EXPECT_EQ(kinds(second),
            (std::vector{Ended::kDuplicate, Ended::kDone, Ended::kDuplicate, Ended::kDuplicate}));
  EXPECT_EQ(ran, (std::vector<std::size_t>{0, 1, 2, 1}));
  std::vector<Bytes> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("many-" + std::to_string(i));
  const std::vector<BatchMessage> many = [&] {
    std::vector<BatchMessage> made;
    for (const Bytes& key : keys) made.push_back({key, kOne});
    return made;
  }();
  const std::size_t claims = plan.calls(StoreCall::kClaim);
  const std::size_t finishes = plan.calls(StoreCall::kFinish);
  EXPECT_EQ(kinds(guard.run_batch(many, [](std::size_t) {})),
            std::vector<Ended>(many.size(), Ended::kDone));
  EXPECT_EQ(plan.calls(StoreCall::kClaim), claims + 1);
  EXPECT_EQ(plan.calls(StoreCall::kFinish), finishes + 1);
  EXPECT_FALSE(guard.run_batch(messages, [](std::size_t, Transaction&) {})[0])
      << "it has no transactions";
}

TEST(GuardBatchOnMemory, AKeyThatSomebodyHasIsBusyAlone) {
  const auto store = make_memory_store();
  Guard guard(*store, shipments());
  auto held = guard.begin("b", kOne);
  ASSERT_TRUE(held && held->claim);
  const std::vector<BatchMessage> messages{{"a", kOne}, {"b", kOne}, {"c", kOne}, {"b", kOther}};
  const auto answers = guard.run_batch(messages, [](std::size_t) {});
  EXPECT_EQ(kinds(answers),
            (std::vector{Ended::kDone, Ended::kBusy, Ended::kDone, Ended::kConflict}));
  EXPECT_GT(answers[1]->delay, milliseconds(0));
  EXPECT_NE(answers[1]->error.find("holder"), std::string::npos);
}

TEST(GuardBatchOnMemory, AtMostOnceHasOneKeyInDoubtAtATime) {
  const auto inner = make_memory_store();
  test::FaultPlan plan;
  const auto store = test::make_fault_store(*inner, plan);
  GuardOptions options = shipments();
  options.at_most_once = true;
  Guard guard(*store, options);
  const std::vector<BatchMessage> messages{{"a", kOne}, {"b", kOne}, {"c", kOne}};
  std::vector<std::size_t> claims;
  const auto answers = guard.run_batch(messages, [&](std::size_t i) {
    claims.push_back(plan.calls(StoreCall::kClaim));
    if (i == 1) throw std::domain_error("in the midst of it");
  });
  EXPECT_EQ(claims, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(kinds(answers), (std::vector{Ended::kDone, Ended::kParked, Ended::kDone}));
  EXPECT_EQ(answers[1]->reason, reason::kOutcomeUnknown);
}

TEST(GuardBatchOnMemory, WhatTheWindowKnowsIsNotAsked) {
  const auto inner = make_memory_store();
  test::FaultPlan plan;
  const auto store = test::make_fault_store(*inner, plan);
  GuardOptions options = shipments();
  options.front = make_memory_front();
  Guard guard(*store, options);
  const std::vector<BatchMessage> some{{"a", kOne}, {"b", kOne}};
  const std::vector<BatchMessage> more{{"new", kOne}, {"a", kOne}, {"b", kOther}, {"b", kOne}};
  std::vector<std::size_t> ran;
  const auto work = [&](std::size_t i) { ran.push_back(i); };
  EXPECT_EQ(kinds(guard.run_batch(some, work)), std::vector<Ended>(2, Ended::kDone));
  const auto answers = guard.run_batch(more, work);
  EXPECT_EQ(kinds(answers),
            (std::vector{Ended::kDone, Ended::kDuplicate, Ended::kConflict, Ended::kDuplicate}));
  EXPECT_EQ(answers[1]->reason, reason::kFront);
  EXPECT_EQ(ran, (std::vector<std::size_t>{0, 1, 0}));
}

}  // namespace
}  // namespace semel::guard
