// Messages that were in flight when a process died. They are counted first, handled in groups, and
// given up only if they were alone in flight at a death.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <semel/spi/run_markers.h>

#include "core/suspect_group.h"
#include "engine/test_engine.h"

namespace semel::engine {
namespace {

// Run markers as a store would keep them, controlled by the test. One thread at a time.
class FakeMarkers final : public RunMarkers {
 public:
  Result<Begun> begin(ConsumerNumber, std::size_t window) override {
    begun_window = window;
    if (away) return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
    return begun;
  }
  Result<void> end(ConsumerNumber) override {
    ended = true;
    return {};
  }
  Result<bool> sweep() override { return false; }
  Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) override {
    std::vector<std::optional<int>> answer;
    for (const KeyId& key : keys) {
      answer.push_back(completed.contains(key) ? std::nullopt : std::optional(kept_of(key)));
    }
    if (looked) looked();
    return answer;
  }
  Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) override {
    std::vector<int> answer;
    std::vector<int> counts;
    for (const CrashChange& change : changes) {
      const int kept = kept_of(change.key);
      answer.push_back(core::crashes_after(kept, {change.from, change.to}));
      if (answer.back() != kept) counts.push_back(answer.back());
      this->kept[change.key] = answer.back();
      EXPECT_EQ(change.highest, core::highest_from({change.from, change.to}));
    }
    changed.push_back(counts);
    if (lost_answers == 0) return answer;
    --lost_answers;
    return failure({ErrorKind::kUnavailable, {}, "lost", {}});
  }
  int kept_of(const KeyId& key) const {
    const auto found = kept.find(key);
    return found == kept.end() ? 0 : found->second;
  }

  Begun begun;
  std::atomic<bool> away{false};
  std::atomic<std::size_t> begun_window{0};  // zero: begin() was not called
  std::map<KeyId, int> kept;
  std::set<KeyId> completed;
  std::vector<std::vector<int>> changed;  // the new counts of changed messages, call by call
  int lost_answers = 0;
  std::function<void()> looked;
  std::atomic<bool> ended{false};
};

class StoreWithMarkers final : public Store {
 public:
  StoreWithMarkers(Store& inner, RunMarkers& markers) : inner_(inner), markers_(markers) {}
  const StoreTraits& traits() const noexcept override { return inner_.traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = inner_.facets();
    facets.runs = &markers_;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& c) override { return inner_.attach(c); }
  Result<std::vector<Claim>> claim(std::span<const Message* const> m,
                                   const ClaimOptions& o) override {
    return inner_.claim(m, o);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> l, milliseconds d) override {
    return inner_.renew(l, d);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> b) override {
    return inner_.finish(b);
  }
  Result<PurgeReport> purge(milliseconds b) override { return inner_.purge(b); }

 private:
  Store& inner_;
  RunMarkers& markers_;
};

class SuspectsTest : public EngineTest {
 protected:
  SuspectsTest() : marked_(*store_, markers_) {
    markers_.begun = {true, 6};
    options_.batch_first = 100;
  }
  KeyId id(BytesView key) const { return test::make_message(options_.number, key).key().id; }
  void send_many(int count) {
    for (int i = 0; i < count; ++i) send("k" + std::to_string(i));
    topic_.finish();
  }
  // Notes in which batch, and with which stored count, each message ran; `script` sets its outcome.
  std::unique_ptr<Engine> noting(ScriptedStrategy::Script script, bool redelivers = true) {
    return engine(
        [this, script](core::TrackedDelivery& delivery, std::size_t batch) {
          const Bytes key = delivery.message.key().text;
          batch_of_[key].push_back(batch);
          kept_when_run_[key].push_back(markers_.kept_of(delivery.message.key().id));
          return script(delivery, batch);
        },
        redelivers, &marked_);
  }
  static Outcome is_done(core::TrackedDelivery&, std::size_t) {
    return semel::engine::ended(kDone);
  }
  bool nothing_kept() const {
    return std::ranges::all_of(markers_.kept, [](const auto& one) { return one.second == 0; });
  }

  static constexpr Outcome::Kind kDone = Outcome::Kind::kDone;
  FakeMarkers markers_;
  StoreWithMarkers marked_;
  std::map<Bytes, std::vector<std::size_t>> batch_of_;
  std::map<Bytes, std::vector<int>> kept_when_run_;
};

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

// A reload begins another engine, although no process has died.
TEST_F(SuspectsTest, TheNextEngineOfTheProcessKnowsThoseThatWereLeft) {
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
  ASSERT_EQ(batch_of_.size(), 1U);
  const Bytes tried = batch_of_.begin()->first;
  EXPECT_GE(e->suspects_left(), 5U);
  options_.suspects_first = e->suspects_left();
  options_.once = true;
  markers_.begun = {};
  e.reset();
  auto next = noting(is_done);
  EXPECT_EQ(next->run(), Ended::kFinished);
  EXPECT_EQ(next->suspects_left(), 0U);
  EXPECT_EQ(batch_of_.size(), 6U);
  for (const auto& [key, kept] : kept_when_run_) {
    if (key != tried) {
      EXPECT_NE(kept.front(), 0) << key << " was handled as if nothing had happened";
    }
  }
  EXPECT_TRUE(markers_.ended);
}

// An engine of a process in which the previous engine left suspects.
class LeftSuspects : public SuspectsTest {
 protected:
  LeftSuspects() {
    options_.once = false;
    options_.suspects_first = 40;
    options_.pace.max_in_flight = 4;
    markers_.begun = {};
  }
  // Stops the engine once it has asked the store.
  std::size_t left_by_one_that_is_stopped() {
    auto e = noting(is_done);
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
    EXPECT_TRUE(test::comes_true([&] { return markers_.begun_window > 0; }));
    e->stop();
    running.join();
    return e->suspects_left();
  }
};

TEST_F(LeftSuspects, OutliveAnEngineThatNeverReachedTheStore) {
  markers_.away = true;
  EXPECT_EQ(left_by_one_that_is_stopped(), 40U);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LeftSuspects, OutliveAnEngineToWhichNothingCame) {
  EXPECT_EQ(left_by_one_that_is_stopped(), 40U);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LeftSuspects, AreNoneWhereTheSourceIsAtItsEnd) {
  options_.once = true;
  topic_.finish();
  auto e = noting(is_done);
  EXPECT_EQ(e->run(), Ended::kFinished);
  EXPECT_EQ(e->suspects_left(), 0U);
  EXPECT_TRUE(markers_.ended);
}

// A source with two partitions, of which one returns nothing yet.
class HalfReadSource final : public Source {
 public:
  HalfReadSource(MemoryTopic& topic, std::vector<std::string> unread)
      : source_(topic), unread_(std::move(unread)) {
    source_.set_paused("p1", true);
  }
  const SourceTraits& traits() const noexcept override { return source_.traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return source_.settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  std::optional<std::vector<std::string>> unread() override {
    if (closed_) return std::nullopt;
    return unread_;
  }
  Result<void> close(milliseconds deadline) override {
    closed_ = true;
    return source_.close(deadline);
  }

 private:
  MemorySource source_;
  const std::vector<std::string> unread_;
  bool closed_ = false;
};

// An engine after an unclean end: p0 returns its whole window, and p1 nothing.
class LateSuspects : public SuspectsTest {
 protected:
  LateSuspects() {
    options_.once = false;
    markers_.begun = {true, 2};
    options_.pace.max_in_flight = 2;
    for (const char* const at : {"p0", "p0", "p1"}) {
      Arrival arrival;
      arrival.payload = payload_with_id("k" + std::to_string(topic_.added()));
      arrival.partition = at;
      topic_.add(std::move(arrival));
    }
  }
  std::size_t left_by_one_that_is_stopped(std::vector<std::string> unread) {
    auto e =
        engine_over(std::make_unique<HalfReadSource>(topic_, std::move(unread)), is_done, &marked_);
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
    EXPECT_TRUE(test::comes_true([&] { return topic_.acked() == 2; }));
    e->stop();
    running.join();
    return e->suspects_left();
  }
};

TEST_F(LateSuspects, AreLeftToTheNextEngineWhereTheirPartitionBroughtNothing) {
  EXPECT_EQ(left_by_one_that_is_stopped({"p1"}), 2U);
  EXPECT_FALSE(markers_.ended);
}

TEST_F(LateSuspects, AreNoneInAPartitionThatWasReadToItsEnd) {
  EXPECT_EQ(left_by_one_that_is_stopped({"p0"}), 0U);
  EXPECT_TRUE(markers_.ended);
}

// A process that died now would leave this many suspects, though this engine has fewer messages in
// flight at a time.
TEST_F(LeftSuspects, AreWithinTheWindowOfTheMarker) {
  options_.once = true;
  send_many(10);
  EXPECT_EQ(noting(is_done)->run(), Ended::kFinished);
  EXPECT_EQ(markers_.begun_window, 40U);
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

}  // namespace
}  // namespace semel::engine
