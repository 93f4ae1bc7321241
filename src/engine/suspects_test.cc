// Messages that were in flight when a process died. They are counted first, handled in groups, and
// given up only if they were alone in flight at a death.
#include <optional>
#include <string>
#include <vector>

#include "engine/test_suspects.h"

namespace semel::engine {
namespace {

TEST_F(SuspectsTest, AfterAnUncleanEndTheWindowIsCountedAndHandledTogether) {
  send_many(10);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(markers_.kept.size(), 6u) << "what was not in flight is not counted";
  for (const auto& [key, batches] : batch_of_) {
    const bool suspect = key < "k6";
    EXPECT_EQ(batches, (std::vector<std::size_t>{suspect ? 6U : 4U})) << key;
    EXPECT_EQ(kept_when_run_[key], std::vector<int>{suspect ? -1 : 0}) << key;
  }
  EXPECT_TRUE(nothing_kept());
  EXPECT_TRUE(markers_.ended);
}

TEST_F(SuspectsTest, WhoeverWasAloneStaysSoAndIsGivenUpAtTheLimit) {
  markers_.kept = {{id("k1"), options_.crashes}, {id("k3"), options_.crashes - 1}, {id("k5"), -1}};
  send_many(6);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_FALSE(batch_of_.contains("k1")) << "the killer ran again";
  EXPECT_EQ(seen_.count(Outcome::Kind::kDead), 1u);
  EXPECT_EQ(seen_.count(Outcome::Kind::kDead, "k1"), 1u);
  for (const char* const alone : {"k0", "k2", "k3"}) {
    EXPECT_EQ(batch_of_[alone], std::vector<std::size_t>{1}) << alone;
  }
  EXPECT_EQ(kept_when_run_["k0"], std::vector<int>{1});
  EXPECT_EQ(kept_when_run_["k3"], std::vector<int>{options_.crashes});
  EXPECT_EQ(batch_of_["k4"], std::vector<std::size_t>{2});
  EXPECT_EQ(kept_when_run_["k4"], std::vector<int>{-1});
  EXPECT_EQ(kept_when_run_["k5"], std::vector<int>{-2});
  EXPECT_TRUE(nothing_kept());
}

TEST_F(SuspectsTest, AnAnswerThatIsLostCountsNothingTwice) {
  markers_.lost_answers = 1;
  send_many(6);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  for (const auto& [key, kept] : kept_when_run_) EXPECT_EQ(kept, std::vector<int>{-1}) << key;
  EXPECT_EQ(markers_.lost_answers, 0) << "the fault did not fire";
  EXPECT_TRUE(nothing_kept());
}

TEST_F(SuspectsTest, WhatAnotherCountedMeanwhileIsLookedAtAgain) {
  int looks = 0;
  markers_.looked = [&] {
    if (++looks == 1) markers_.kept[id("k2")] = 1;
  };
  send_many(6);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(batch_of_["k0"], std::vector<std::size_t>{2});
  EXPECT_EQ(kept_when_run_["k0"], std::vector<int>{-1}) << "counted for the group that did not run";
  EXPECT_EQ(batch_of_["k2"], std::vector<std::size_t>{1});
  EXPECT_EQ(kept_when_run_["k2"], std::vector<int>{2});
  EXPECT_EQ(batch_of_["k5"], std::vector<std::size_t>{3});
}

TEST_F(SuspectsTest, ForOneThatIsCompletedAnotherIsSuspected) {
  markers_.completed = {id("k1"), id("k2")};
  send_many(10);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_FALSE(markers_.kept.contains(id("k1")));
  EXPECT_EQ(markers_.kept.size(), 4u) << "the window was received as a whole";
  EXPECT_EQ(batch_of_["k1"], std::vector<std::size_t>{6});
}

struct Untried {
  const char* name;
  Outcome::Kind kind;
  Outcome::Settle settle;
  std::string_view reason;
};

class UntriedSuspects : public SuspectsTest, public testing::WithParamInterface<Untried> {};

// It is not known yet whether the message crashes its process, so it stays a suspect with its
// previous count.
TEST_P(UntriedSuspects, AreAsTheyWere) {
  markers_.kept = {{id("k2"), 2}};
  send_many(4);
  auto e = noting([&](core::TrackedDelivery& delivery, std::size_t) {
    if (batch_of_[delivery.message.key().text].size() > 1) return ended(kDone);
    Outcome outcome = ended(GetParam().kind, GetParam().settle);
    outcome.reason = GetParam().reason;
    outcome.delay = milliseconds(1);
    return outcome;
  });
  EXPECT_EQ(e->run(), Ended::kFinished);
  for (const char* const key : {"k0", "k1"}) {
    EXPECT_EQ(kept_when_run_[key], (std::vector<int>{-1, -1})) << key;
  }
  EXPECT_EQ(kept_when_run_["k2"], (std::vector<int>{3, 3}));
  EXPECT_EQ(batch_of_["k2"], (std::vector<std::size_t>{1, 1}));
  EXPECT_TRUE(nothing_kept());
  EXPECT_TRUE(markers_.ended);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, UntriedSuspects,
    testing::Values(Untried{"busy", Outcome::Kind::kBusy, Outcome::Settle::kLater, {}},
                    Untried{"away", Outcome::Kind::kRetry, Outcome::Settle::kLater,
                            reason::kStoreUnavailable},
                    Untried{"kept", Outcome::Kind::kRetry, Outcome::Settle::kKeep, {}}),
    [](const auto& way) { return way.param.name; });

TEST_F(SuspectsTest, OneThatFailedIsNoSuspectAnyMore) {
  send_many(3);
  auto e = noting(
      [&](core::TrackedDelivery& delivery, std::size_t) {
        if (batch_of_[delivery.message.key().text].size() > 1) return ended(kDone);
        Outcome outcome = ended(Outcome::Kind::kRetry, Outcome::Settle::kLater);
        outcome.delay = milliseconds(1);
        return outcome;
      },
      false);
  EXPECT_EQ(e->run(), Ended::kFinished);
  for (const auto& [key, kept] : kept_when_run_) EXPECT_EQ(kept, (std::vector<int>{-1, 0})) << key;
}

TEST_F(SuspectsTest, ADrainThatCutsAGroupLeavesTheMarker) {
  options_.once = false;
  markers_.kept = {{id("k1"), 1}};
  send_many(6);
  Engine* running = nullptr;
  auto e = noting([&](core::TrackedDelivery&, std::size_t) {
    running->stop();
    return ended(kDone);
  });
  running = e.get();
  EXPECT_EQ(e->run(), Ended::kDrained);
  EXPECT_EQ(batch_of_.size(), 1u) << "a group began after the drain had";
  EXPECT_FALSE(markers_.ended) << "the next run must know of the others";
  EXPECT_EQ(markers_.kept_of(id("k1")), 1);
  EXPECT_EQ(markers_.kept_of(id("k0")), 0);
  EXPECT_EQ(topic_.in_flight(), 0u);
}

TEST_F(SuspectsTest, WhoeverIsStoppedWithinAGroupIsKnownToTheNextRun) {
  options_.once = false;
  send_many(6);
  Engine* running = nullptr;
  auto e = noting([&](core::TrackedDelivery& delivery, std::size_t) {
    running->stop();
    if (delivery.message.key().text != "k4") return ended(kDone);
    return ended(Outcome::Kind::kRetry, Outcome::Settle::kRelease);
  });
  running = e.get();
  EXPECT_EQ(e->run(), Ended::kDrained);
  EXPECT_EQ(batch_of_.size(), 6u);
  EXPECT_FALSE(markers_.ended);
  EXPECT_TRUE(nothing_kept());
}

// The first batch of a handler outside the store has one message, which would be alone at each kill
// from outside.
TEST_F(SuspectsTest, AreTogetherHoweverSmallTheFirstBatchIs) {
  options_.batch_first = 1;
  send_many(10);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(kept_when_run_["k0"], std::vector<int>{-1});
  EXPECT_EQ(batch_of_["k0"], batch_of_["k5"]);
  EXPECT_GT(batch_of_["k0"].front(), 1u);
  EXPECT_TRUE(nothing_kept());
}

// The message waits for its next attempt when the drain begins.
TEST_F(SuspectsTest, OneThatWaitsUntriedIsKnownToTheNextRun) {
  options_.once = false;
  markers_.kept = {{id("k1"), 1}};
  send_many(2);
  Engine* running = nullptr;
  auto e = noting([&](core::TrackedDelivery& delivery, std::size_t) {
    if (delivery.message.key().text == "k1") {
      running->stop();
      return ended(kDone);
    }
    Outcome outcome = ended(Outcome::Kind::kBusy, Outcome::Settle::kLater);
    outcome.delay = std::chrono::hours(1);
    return outcome;
  });
  running = e.get();
  EXPECT_EQ(e->run(), Ended::kDrained);
  EXPECT_EQ(batch_of_.size(), 2u);
  EXPECT_FALSE(markers_.ended);
}

// The gate admits nothing while its trial runs, but the trial itself.
TEST_F(SuspectsTest, OneOfThemTriesAGateThatWasShut) {
  markers_.kept = {{id("k0"), 1}, {id("k1"), 1}};
  send_many(3);
  Engine* running = nullptr;
  int looks = 0;
  markers_.looked = [&] {
    if (++looks > 50) running->stop();
  };
  Gate* gate = nullptr;
  EngineParts parts =
      parts_over(std::make_unique<MemorySource>(topic_, test::MemorySourceOptions{}));
  parts.store = &marked_;
  parts.strategy = [&](const strategies::Services& services) {
    gate = services.gate;
    return std::make_unique<ScriptedStrategy>(
        [&](core::TrackedDelivery& delivery, std::size_t batch) {
          batch_of_[delivery.message.key().text].push_back(batch);
          delivery.message.key().text == "k0" ? gate->shut(milliseconds(1), "away") : gate->open();
          return ended(kDone);
        },
        *services.monitor);
  };
  const auto engine = Engine::create(options_, std::move(parts));
  running = engine.get();
  EXPECT_EQ(engine->run(), Ended::kFinished);
  EXPECT_EQ(batch_of_["k1"], std::vector<std::size_t>{1});
  EXPECT_EQ(batch_of_.size(), 3U);
  EXPECT_LE(looks, 50) << "it was given back and taken again";
}

TEST_F(SuspectsTest, WhatAnotherProcessHasCountedIsNotTakenBack) {
  int looks = 0;
  markers_.kept = {{id("k1"), -2}};
  markers_.looked = [&] {
    if (++looks == 1) markers_.kept[id("k1")] = 2;
  };
  send_many(2);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(kept_when_run_["k1"], std::vector<int>{3});
}

// A strategy took it over from a holder whose lease ended, long after the window was handled.
TEST_F(SuspectsTest, OneThatItsStrategyMakesASuspectIsCountedBeforeItRuns) {
  send_many(10);
  auto e = noting([&](core::TrackedDelivery& delivery, std::size_t) {
    const std::string& key = delivery.message.key().text;
    if (key != "k8" || batch_of_[key].size() > 1) return ended(kDone);
    delivery.arrival.suspect = true;
    return ended(Outcome::Kind::kRetry, Outcome::Settle::kKeep);
  });
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(batch_of_["k8"], (std::vector<std::size_t>{4, 1}));
  EXPECT_EQ(kept_when_run_["k8"], (std::vector<int>{0, 1}));
  EXPECT_TRUE(nothing_kept());
  EXPECT_EQ(topic_.in_flight(), 0u);
}

}  // namespace
}  // namespace semel::engine
