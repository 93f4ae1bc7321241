// Random handlers on a store that fails at random. Each message must end as its handler decides,
// and must have its effect, its held copy or its dead letter once. No message may have its effect
// before one that it is ordered behind.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/conformance/strategy/strategy_fixture.h"

namespace semel::strategies {
namespace {

using core::StrategyKind;
using semel::test::SeededRandom;
using semel::test::StoreCall;
using semel::test::When;
using Kind = Outcome::Kind;
using Settle = Outcome::Settle;

enum class Plan {
  kDone,
  kDoneAfterQuery,
  kThrows,
  kThrowsAfterQuery,
  kFails,
  kTaken,
  kMissDiscards,
  kMissDies,
  kDies,
  kDiscards,
  kRetries
};
constexpr std::uint64_t kPlans = 11;

Verdict play(Plan plan, const Message& message, Transaction& tx) {
  tx.exec("INSERT INTO effect VALUES (?)", message.key().text);
  switch (plan) {
    case Plan::kDone:
      return done("r");
    case Plan::kDoneAfterQuery:
      tx.query("SELECT effects");
      tx.query("SELECT effects");
      return done("r");
    case Plan::kThrowsAfterQuery:
      tx.query("SELECT effects");
      throw std::runtime_error("no");
    case Plan::kThrows:
      throw std::runtime_error("no");
    case Plan::kFails:
      tx.exec("UPDATE broken SET x = 1");
      return done();
    case Plan::kTaken:
      tx.exec("INSERT INTO taken VALUES (1)");
      return done();
    case Plan::kMissDiscards:
      tx.exec("UPDATE nothing SET x = 1").expect_rows(1, discard("gone"));
      return done();
    case Plan::kMissDies:
      tx.exec("UPDATE nothing SET x = 1").expect_rows(1, dead("no row"));
      return done();
    case Plan::kDies:
      return dead("never");
    case Plan::kDiscards:
      return discard("nothing");
    case Plan::kRetries:
      return retry("later");
  }
  return done();
}

Kind end_of(Plan plan) {
  switch (plan) {
    case Plan::kDone:
    case Plan::kDoneAfterQuery:
      return Kind::kDone;
    case Plan::kMissDiscards:
    case Plan::kDiscards:
      return Kind::kDiscarded;
    case Plan::kMissDies:
    case Plan::kDies:
      return Kind::kDead;
    default:
      return Kind::kRetry;
  }
}

class RandomTest : public StrategyFixture, public ::testing::WithParamInterface<StrategyKind> {
 protected:
  // A retry stays held until its batch ends.
  RandomTest() {
    context_.claim.lease = std::chrono::milliseconds(1'000);
    context_.retry.first = std::chrono::hours(1'000);
    context_.retry.longest = std::chrono::hours(1'000);
    context_.retry.max_elapsed = std::chrono::milliseconds(0);
    context_.retry.attempts = 50;
  }

  // Fits once the message is settled for good: as planned or, after an unresolved doubt, as a
  // duplicate.
  static bool fits(Plan plan, const Outcome& outcome) {
    return outcome.kind == end_of(plan) ||
           (outcome.kind == Kind::kDuplicate &&
            (end_of(plan) == Kind::kDone || end_of(plan) == Kind::kDiscarded));
  }

  void plan_faults(SeededRandom& random) {
    constexpr StoreCall kCalls[] = {
        StoreCall::kBegin,      StoreCall::kUnitClaim,  StoreCall::kUnitConfirm,
        StoreCall::kUnitQuery,  StoreCall::kUnitFlush,  StoreCall::kUnitUndo,
        StoreCall::kUnitFinish, StoreCall::kUnitCommit, StoreCall::kUnitCommit,
        StoreCall::kClaim,      StoreCall::kFinish};
    for (std::uint64_t n = random.below(7); n > 0; --n) {
      const StoreCall call = kCalls[random.below(std::size(kCalls))];
      auto kind = static_cast<ErrorKind>(random.below(6));
      auto when = When::kBefore;
      if (call == StoreCall::kUnitCommit && random.below(2) == 0) {
        kind = ErrorKind::kInDoubt;
        when = random.below(2) == 0 ? When::kBefore : When::kAfter;
      }
      // A refusal after the claims is a message's fault, and ends that message in another way.
      const bool refused = kind == ErrorKind::kRejected || kind == ErrorKind::kLimit;
      const bool behind = call != StoreCall::kBegin && call != StoreCall::kUnitClaim &&
                          call != StoreCall::kUnitConfirm && call != StoreCall::kClaim;
      if (refused && behind) continue;
      faults_.fail(call, 1 + random.below(3), kind, when);
    }
  }

  void run_batch(SeededRandom& random, int number) {
    // Each transaction copies the state: what earlier batches left would be most of the work.
    store_.state = {};
    store_.sparse_undoes_all = random.below(2) == 0;
    store_.always_undoes_all = random.below(8) == 0;
    std::map<Bytes, Plan> plans;
    std::vector<std::string> pending;
    for (std::uint64_t n = 1 + random.below(12); n > 0; --n) {
      pending.push_back("m" + std::to_string(number) + "-" + std::to_string(n));
      const bool good = random.below(3) != 0;
      plans[pending.back()] = good ? Plan::kDone : static_cast<Plan>(random.below(kPlans));
    }
    context_.handler = TransactionalHandler([&](const Message& message, Transaction& tx) {
      return play(plans.at(message.key().text), message, tx);
    });
    for (int round = 0; !pending.empty(); ++round) {
      ASSERT_LT(round, 50) << "never settled";
      faults_.clear();
      if (round < 20) plan_faults(random);
      const auto sink = process(GetParam(), pending);
      pending.clear();
      for (const auto& [key, outcome] : sink.outcomes) {
        if (outcome.settle == Settle::kLater) {
          pending.push_back(key);
        } else {
          EXPECT_TRUE(fits(plans.at(key), outcome)) << key << ' ' << to_string(outcome.kind);
        }
      }
      // A lease that could not be given back ends by itself.
      store_.now += 2 * context_.claim.lease;
    }
    for (const auto& [key, plan] : plans) check(key, plan);
  }

  // Makes batches as the engine does: a message that failed stops its ordering group.
  void run_lines(SeededRandom& random, int number) {
    store_.state = {};
    store_.sparse_undoes_all = random.below(2) == 0;
    store_.always_undoes_all = random.below(8) == 0;
    std::map<Bytes, Plan> plans;
    std::map<Bytes, Bytes> line_of;
    std::vector<Bytes> pending;
    for (std::uint64_t n = 2 + random.below(12); n > 0; --n) {
      pending.push_back("m" + std::to_string(number) + "-" + std::to_string(n));
      line_of[pending.back()] = "line " + std::to_string(random.below(3));
      const bool good = random.below(4) != 0;
      plans[pending.back()] = good ? Plan::kDone : static_cast<Plan>(random.below(kPlans));
    }
    context_.handler = TransactionalHandler([&](const Message& message, Transaction& tx) {
      return play(plans.at(message.key().text), message, tx);
    });
    std::set<Bytes> stopped;
    for (int round = 0; !pending.empty(); ++round) {
      ASSERT_LT(round, 60) << "never settled";
      faults_.clear();
      if (round < 20) plan_faults(random);
      auto batch = ordered_batch(pending, [&](const Bytes& key) { return line_of.at(key); });
      const auto sink = process(GetParam(), batch);
      const std::set<Bytes> again = check_order(sink, batch, line_of, stopped);
      std::erase_if(pending, [&](const Bytes& key) {
        return !again.contains(key) || stopped.contains(line_of.at(key));
      });
      store_.now += 2 * context_.claim.lease;
    }
    for (const auto& [key, plan] : plans) {
      if (!stopped.contains(line_of.at(key))) check(key, plan);
    }
  }

  // Returns the deliveries that come again, and adds the ordering groups that stop.
  std::set<Bytes> check_order(const RememberingSink& sink,
                              const std::vector<core::TrackedDelivery>& batch,
                              const std::map<Bytes, Bytes>& line_of, std::set<Bytes>& stopped) {
    std::set<Bytes> again;
    std::map<Bytes, Bytes> open;  // for each ordering group, the first delivery that has not ended
    for (const core::TrackedDelivery& delivery : batch) {
      const Bytes& key = delivery.message.key().text;
      const Bytes& line = line_of.at(key);
      const Outcome& outcome = sink.of(key);
      if (open.contains(line)) {
        EXPECT_EQ(effects(key), 0) << key << " passed " << open.at(line);
        EXPECT_EQ(outcome.settle, Settle::kKeep) << key << " ended behind " << open.at(line);
      }
      followed_ += delivery.follows && outcome.kind == Kind::kDone ? 1 : 0;
      left_ += outcome.settle == Settle::kKeep ? 1 : 0;
      EXPECT_TRUE(outcome.settle != Settle::kKeep || delivery.follows) << key;
      const bool comes = outcome.settle == Settle::kLater || outcome.settle == Settle::kKeep;
      if (comes) again.insert(key);
      if (outcome.kind == Kind::kRetry && !comes) stopped.insert(line);
      const bool open_still = comes || outcome.kind == Kind::kRetry;
      if (open_still && !has_ended(delivery.message.key().id)) open.emplace(line, key);
    }
    return again;
  }

  // Asks the store, since a doubtful commit that did happen was not reported.
  bool has_ended(const KeyId& id) const {
    const auto at = store_.state.records.find(id);
    if (at == store_.state.records.end() || !at->second) return false;
    return at->second->state == RecordState::kCompleted || at->second->state == RecordState::kDead;
  }

  int followed_ = 0, left_ = 0;

  void check(const Bytes& key, Plan plan) const {
    const auto times = [&](const std::vector<ScriptedState::Kept>& kept) {
      return std::count_if(kept.begin(), kept.end(), [&](const auto& k) { return k.key == key; });
    };
    EXPECT_EQ(effects(key), end_of(plan) == Kind::kDone ? 1 : 0) << key;
    EXPECT_EQ(times(store_.state.held), end_of(plan) == Kind::kRetry ? 1 : 0) << key;
    EXPECT_EQ(times(store_.state.dead_letters), end_of(plan) == Kind::kDead ? 1 : 0) << key;
  }
};

TEST_P(RandomTest, EachMessageEndsAsItsHandlerWouldHaveIt) {
  const std::uint64_t seed = semel::test::test_seed();
  SCOPED_TRACE("SEMEL_TEST_SEED=" + std::to_string(seed));
  SeededRandom random(seed);
  for (int number = 0; number < 150 && !HasFailure(); ++number) run_batch(random, number);
  EXPECT_GT(faults_.fired(), 50U);
}

class OrderedRandomTest : public RandomTest {};

TEST_P(OrderedRandomTest, NoMessagePassesOneItIsOrderedBehind) {
  ASSERT_TRUE(make_strategy(GetParam(), context_)->takes_followers());
  const std::uint64_t seed = semel::test::test_seed();
  SCOPED_TRACE("SEMEL_TEST_SEED=" + std::to_string(seed));
  SeededRandom random(seed);
  for (int number = 0; number < 150 && !HasFailure(); ++number) run_lines(random, number);
  EXPECT_GT(faults_.fired(), 50U);
  EXPECT_GT(followed_, 50);
  EXPECT_GT(left_, 50);
}

INSTANTIATE_TEST_SUITE_P(WithFollowers, OrderedRandomTest,
                         ::testing::Values(StrategyKind::kDedupTable, StrategyKind::kInbox),
                         [](const auto& info) { return core::to_string(info.param); });

INSTANTIATE_TEST_SUITE_P(Transactional, RandomTest,
                         ::testing::Values(StrategyKind::kDedupTable, StrategyKind::kInbox,
                                           StrategyKind::kStateMachine),
                         [](const auto& info) { return core::to_string(info.param); });

}  // namespace
}  // namespace semel::strategies
