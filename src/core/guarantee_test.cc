#include "core/guarantee.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace semel::core {
namespace {

using std::chrono::hours;

constexpr StrategyKind kAllStrategies[] = {
    StrategyKind::kNatural,        StrategyKind::kQuery,      StrategyKind::kPessimisticLock,
    StrategyKind::kOptimisticLock, StrategyKind::kDedupTable, StrategyKind::kInbox,
    StrategyKind::kStateMachine};

GuaranteeFacts facts(StrategyKind strategy = StrategyKind::kDedupTable) {
  GuaranteeFacts f;
  f.source = {.name = "queue", .redelivers = true, .in_store = true, .ends = true, .horizon = {}};
  f.store = {.name = "sqlite", .durable = true};
  f.strategy = strategy;
  f.handler_transactional = true;
  f.ttl = hours(7 * 24);
  return f;
}
bool says(const Guarantee& g, std::string_view words) {
  return std::any_of(g.reasons.begin(), g.reasons.end(), [&](const std::string& reason) {
    return reason.find(words) != std::string::npos;
  });
}

TEST(Guarantee, OfTheStrategiesAsTheContractSays) {
  for (StrategyKind strategy :
       {StrategyKind::kPessimisticLock, StrategyKind::kOptimisticLock, StrategyKind::kDedupTable,
        StrategyKind::kInbox, StrategyKind::kStateMachine}) {
    const Guarantee g = compute_guarantee(facts(strategy));
    EXPECT_EQ(g.name, Guarantee::Name::kTransactional) << to_string(strategy);
    EXPECT_EQ(g.effect, Guarantee::Effect::kOnce);
    EXPECT_EQ(g.loss, Guarantee::Loss::kNone);
    EXPECT_EQ(g.until, "for 7d after completion");
    EXPECT_TRUE(g.reasons.empty());
  }
  EXPECT_EQ(compute_guarantee(facts(StrategyKind::kNatural)).name, Guarantee::Name::kIdempotent);
  EXPECT_EQ(compute_guarantee(facts(StrategyKind::kNatural)).effect,
            Guarantee::Effect::kAtLeastOnceSameResult);
  EXPECT_EQ(compute_guarantee(facts(StrategyKind::kQuery)).name, Guarantee::Name::kNone);
  EXPECT_EQ(compute_guarantee(facts(StrategyKind::kQuery)).effect, Guarantee::Effect::kUnknown);
}

TEST(Guarantee, OfAnEffectOutsideTheStore) {
  GuaranteeFacts f = facts(StrategyKind::kStateMachine);
  f.handler_transactional = false;
  const Guarantee g = compute_guarantee(f);
  EXPECT_EQ(g.name, Guarantee::Name::kAtLeastOnce);
  EXPECT_EQ(g.effect, Guarantee::Effect::kAtLeastOnce);
  EXPECT_TRUE(says(g, "outside the store"));
}

TEST(Guarantee, OfAReceiverThatHonoursKeys) {
  GuaranteeFacts f = facts(StrategyKind::kStateMachine);
  f.handler_transactional = false;
  f.honours_key = true;
  const Guarantee g = compute_guarantee(f);
  EXPECT_EQ(g.name, Guarantee::Name::kKeyedRetry);
  EXPECT_EQ(g.effect, Guarantee::Effect::kAtLeastOnceSameKey);
  EXPECT_EQ(g.loss, Guarantee::Loss::kNone);
  EXPECT_TRUE(says(g, "as declared"));
  EXPECT_NE(g.faults.find("while it remembers"), std::string::npos);
  // Once its record is forgotten, a message is sent again under the same key.
  f.ttl = hours(1);
  f.source.horizon = hours(7 * 24);
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kKeyedRetry);
  EXPECT_TRUE(says(compute_guarantee(f), "kept for 1h"));
  // It changes no other strategy.
  f.strategy = StrategyKind::kNatural;
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kIdempotent);
  f = facts(StrategyKind::kStateMachine);
  f.honours_key = true;
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kTransactional);
}

TEST(Guarantee, EveryPartIsFilledAndTheForbiddenWordsAreNot) {
  for (StrategyKind strategy : kAllStrategies) {
    for (const bool transactional : {true, false}) {
      GuaranteeFacts f = facts(strategy);
      f.handler_transactional = transactional;
      f.source.replays = transactional;
      f.key_is_position = f.fingerprint_none = true;
      const Guarantee g = compute_guarantee(f);
      EXPECT_FALSE(g.faults.empty());
      EXPECT_FALSE(g.until.empty());
      EXPECT_EQ(g.faults.find("exactly"), std::string::npos);
    }
  }
}

TEST(Guarantee, ABodyAsKeyIsSaid) {
  GuaranteeFacts f = facts();
  f.key_may_be_body = true;
  const Guarantee g = compute_guarantee(f);
  EXPECT_TRUE(says(g, "known by its body"));
  EXPECT_NE(g.faults.find("for each body"), std::string::npos);
  f.strategy = StrategyKind::kNatural;
  EXPECT_FALSE(says(compute_guarantee(f), "known by its body")) << "there no key is looked at";
}

TEST(Guarantee, StdinLosesWhatItHadRead) {
  GuaranteeFacts f = facts();
  f.source = {.name = "stdin", .replays = false, .horizon = {}};
  const Guarantee g = compute_guarantee(f);
  EXPECT_EQ(g.name, Guarantee::Name::kTransactional) << "it costs loss, not count";
  EXPECT_EQ(g.effect, Guarantee::Effect::kOnce);
  EXPECT_EQ(g.loss, Guarantee::Loss::kWhatWasRead);
  EXPECT_TRUE(says(g, "stdin"));
}

TEST(Guarantee, AStoreThatForgetsLowersTheCount) {
  GuaranteeFacts f = facts(StrategyKind::kStateMachine);
  f.store = {.name = "memory", .durable = false, .forgets = true};
  const Guarantee g = compute_guarantee(f);
  EXPECT_EQ(g.name, Guarantee::Name::kAtLeastOnce);
  EXPECT_EQ(g.loss, Guarantee::Loss::kPossible);
  EXPECT_EQ(g.until, "until the process ends");
  EXPECT_TRUE(says(g, "not durable"));
  EXPECT_TRUE(says(g, "bounded"));
}

TEST(Guarantee, AServerThatMayForgetItsLastWritesIsSaidToAndPromisesNothingOnce) {
  GuaranteeFacts f = facts(StrategyKind::kStateMachine);
  f.store = {.name = "redis", .durable = true};
  f.store.takes_back = true;
  f.handler_transactional = false;
  const Guarantee outside = compute_guarantee(f);
  EXPECT_EQ(outside.name, Guarantee::Name::kAtLeastOnce);
  EXPECT_EQ(outside.loss, Guarantee::Loss::kOnPowerLoss);
  EXPECT_TRUE(says(outside, "failover of the redis server"));
  EXPECT_TRUE(says(outside, "is done again when it comes again, and a message that waits"));
  f.server_was_asked = true;
  EXPECT_EQ(compute_guarantee(f).loss, Guarantee::Loss::kNone)
      << "what its settings lose, doctor tells";
  f.server_was_asked = false;
  f.strategy = StrategyKind::kNatural;
  const Guarantee natural = compute_guarantee(f);
  EXPECT_EQ(natural.loss, Guarantee::Loss::kOnPowerLoss);
  EXPECT_TRUE(says(natural, "its last writes: a message that waits in the store is lost"));
  f.strategy = StrategyKind::kStateMachine;
  f.honours_key = true;
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kKeyedRetry)
      << "the receiver is called again with the same key";
  f.handler_transactional = true;
  f.honours_key = false;
  EXPECT_EQ(compute_guarantee(f).effect, Guarantee::Effect::kAtLeastOnce);
  f.store.forgets = true;
  const Guarantee evicting = compute_guarantee(f);
  EXPECT_EQ(evicting.loss, Guarantee::Loss::kNone) << "such a server is given no messages";
  EXPECT_TRUE(says(evicting, "may forget a finished record"));
}

TEST(Guarantee, TheWorseLossIsTold) {
  GuaranteeFacts f = facts(StrategyKind::kStateMachine);
  f.source = {.name = "stdin", .replays = false, .horizon = {}};
  f.store = {.name = "memory", .durable = false};
  EXPECT_EQ(compute_guarantee(f).loss, Guarantee::Loss::kPossible);
}

TEST(Guarantee, APositionIdentifiesACopy) {
  GuaranteeFacts f = facts();
  f.key_is_position = true;
  EXPECT_TRUE(says(compute_guarantee(f), "copy"));
  f.strategy = StrategyKind::kNatural;
  EXPECT_FALSE(says(compute_guarantee(f), "copy")) << "there no key is looked at";
}

TEST(Guarantee, APositionThatReturnsMayNameAnotherMessage) {
  GuaranteeFacts f = facts();
  f.source.name = "file";
  f.positions_return = true;
  EXPECT_EQ(compute_guarantee(f).loss, Guarantee::Loss::kNone) << "it is no key";
  f.key_is_position = true;
  EXPECT_EQ(compute_guarantee(f).loss, Guarantee::Loss::kPossible);
  EXPECT_TRUE(says(compute_guarantee(f), "a file that was cut or begun anew"));
  EXPECT_TRUE(says(compute_guarantee(f), "any other is a conflict"));
  f.fingerprint_none = true;
  EXPECT_FALSE(says(compute_guarantee(f), "any other is a conflict"));
  f.fingerprint_none = false;
  f.positions_return = false;
  EXPECT_EQ(compute_guarantee(f).loss, Guarantee::Loss::kNone);
}

TEST(Guarantee, WithoutAFingerprintAnotherPayloadIsADuplicate) {
  GuaranteeFacts f = facts();
  f.fingerprint_none = true;
  const Guarantee g = compute_guarantee(f);
  EXPECT_TRUE(says(g, "fingerprint"));
  EXPECT_NE(g.faults.find("another payload"), std::string::npos);
}

TEST(Guarantee, RetentionShorterThanTheHorizonRepeats) {
  GuaranteeFacts f = facts();
  f.source.horizon = hours(7 * 24);
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kTransactional);
  f.ttl = hours(36);
  const Guarantee g = compute_guarantee(f);
  EXPECT_EQ(g.name, Guarantee::Name::kAtLeastOnce);
  EXPECT_EQ(g.effect, Guarantee::Effect::kAtLeastOnce);
  EXPECT_EQ(g.until, "for 36h after completion");
  EXPECT_TRUE(says(g, "kept for 36h, and queue can redeliver for 7d"));
  f.ttl.reset();
  EXPECT_EQ(compute_guarantee(f).name, Guarantee::Name::kTransactional);
  EXPECT_EQ(compute_guarantee(f).until, "for ever");
}

TEST(Strategies, HaveTheNamesOfTheConfig) {
  for (StrategyKind strategy : kAllStrategies) {
    EXPECT_EQ(strategy_from(to_string(strategy)), strategy);
  }
  EXPECT_STREQ(to_string(StrategyKind::kDedupTable), "dedup_table");
  EXPECT_EQ(strategy_from("Inbox"), std::nullopt);
  EXPECT_EQ(strategy_from(""), std::nullopt);
}

TEST(Strategies, TheDefaultGoesByTheHandler) {
  EXPECT_EQ(default_strategy(true), StrategyKind::kDedupTable);
  EXPECT_EQ(default_strategy(false), StrategyKind::kStateMachine);
  for (const bool transactional : {true, false}) {
    EXPECT_EQ(refuse_combination(default_strategy(transactional), transactional, true, false),
              std::nullopt);
  }
}

TEST(Strategies, WhatCannotKeepItsNameIsRefused) {
  for (StrategyKind strategy : {StrategyKind::kPessimisticLock, StrategyKind::kOptimisticLock,
                                StrategyKind::kDedupTable, StrategyKind::kInbox}) {
    EXPECT_TRUE(commits_with_handler(strategy));
    EXPECT_EQ(refuse_combination(strategy, true, true, false), std::nullopt);
    const auto why = refuse_combination(strategy, false, true, false);
    ASSERT_TRUE(why);
    EXPECT_NE(why->find("state_machine"), std::string::npos) << "the legal choices are named";
  }
  for (StrategyKind strategy : kAllStrategies) {
    EXPECT_TRUE(refuse_combination(strategy, true, false, true)) << to_string(strategy);
  }
  EXPECT_TRUE(refuse_combination(StrategyKind::kQuery, true, true, false));
  EXPECT_EQ(refuse_combination(StrategyKind::kQuery, true, true, true), std::nullopt);
  EXPECT_EQ(refuse_combination(StrategyKind::kNatural, false, false, false), std::nullopt);
  EXPECT_EQ(refuse_combination(StrategyKind::kStateMachine, false, false, false), std::nullopt);
}

}  // namespace
}  // namespace semel::core
