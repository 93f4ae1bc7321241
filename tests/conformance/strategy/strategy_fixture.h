// Shared by the strategies' own tests: a batch, a sink that records, a monitor fired by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <semel/spi/run_markers.h>

#include "strategies/strategy.h"

#include "core/sequencer.h"
#include "strategies/strategies.h"
#include "tests/conformance/strategy/scripted_store.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/recording_observer.h"
#include "tests/support/test_environment.h"

namespace semel::strategies {

class RememberingSink final : public strategies::OutcomeSink {
 public:
  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    order.push_back(delivery.message.key().text);
    EXPECT_TRUE(outcomes.emplace(order.back(), std::move(outcome)).second)
        << order.back() << " ended twice";
  }
  void waits(bool now) noexcept override { waits_seen.push_back(now); }
  const Outcome& of(const Bytes& key) const { return outcomes.at(key); }
  std::size_t count(Outcome::Kind kind) const {
    std::size_t n = 0;
    for (const auto& [key, outcome] : outcomes) n += outcome.kind == kind ? 1U : 0U;
    return n;
  }

  std::map<Bytes, Outcome> outcomes;
  std::vector<Bytes> order;
  std::vector<bool> waits_seen;
};

// Does nothing by itself: the test triggers the monitor's actions.
class HandKeeper final : public HandlerMonitor {
 public:
  std::unique_ptr<Watch> watch(std::span<const Lease> leases, Handlers handlers, std::size_t,
                               std::span<const std::chrono::nanoseconds> asked) override {
    watched.push_back(
        {leases.size(), handlers == Handlers::kInTransaction, {asked.begin(), asked.end()}});
    return std::make_unique<HandWatch>(*this);
  }

  struct Watched {
    std::size_t leases;
    bool transactional;
    std::vector<std::chrono::nanoseconds> asked;
  };
  std::vector<Watched> watched;
  std::function<bool(std::size_t)> stop_at_begin;  // of the handler with this number
  std::function<void()> tick;
  std::atomic<bool> draining{false};
  int begun = 0;
  int ended = 0;
  std::vector<std::size_t> finished;
  std::stop_source stop;

 private:
  class HandWatch final : public Watch {
   public:
    explicit HandWatch(HandKeeper& monitor) : monitor_(monitor) {}
    ~HandWatch() override { monitor_.tick = nullptr; }
    std::stop_token handler_begins(std::size_t lease) override {
      ++monitor_.begun;
      monitor_.stop = std::stop_source();
      if (monitor_.stop_at_begin && monitor_.stop_at_begin(lease)) monitor_.stop.request_stop();
      return monitor_.stop.get_token();
    }
    void handler_ended(std::size_t) override { ++monitor_.ended; }
    void finished(std::size_t lease) override { monitor_.finished.push_back(lease); }
    bool draining() const override { return monitor_.draining; }
    void on_tick(std::function<void()> action) override { monitor_.tick = std::move(action); }

   private:
    HandKeeper& monitor_;
  };
};

inline constexpr core::StrategyKind kStateMachine = core::StrategyKind::kStateMachine;

// Strategies ask only whether there are any.
struct AnyRunMarkers final : RunMarkers {
  Result<Begun> begin(ConsumerNumber, std::size_t) override { return Begun{}; }
  Result<void> end(ConsumerNumber) override { return {}; }
  Result<bool> sweep() override { return false; }
  Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) override {
    return std::vector<std::optional<int>>(keys.size());
  }
  Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) override {
    return std::vector<int>(changes.size());
  }
};
struct NoRecaller final : Recaller {
  void recall(std::uint64_t) noexcept override {}
};

class StrategyFixture : public ::testing::Test {
 protected:
  static constexpr ConsumerNumber kConsumer{1};

  StrategyFixture() : faulty_(semel::test::make_fault_store(store_, faults_)) {
    context_.consumer = "payments";
    context_.store = faulty_.get();
    context_.environment = &environment_.get();
    context_.observer = &observer_;
    context_.services.monitor = &monitor_;
    context_.retry.attempts = 3;
    context_.retry.first = std::chrono::milliseconds(100);
  }

  // A transactional handler with one effect named by the message's key.
  static Verdict effect(const Message& message, Transaction& tx) {
    make_effect(message, tx);
    return done();
  }

  // The effect alone, for a handler with more to say.
  static void make_effect(const Message& message, Transaction& tx) {
    tx.exec("INSERT INTO effect VALUES (?)", message.key().text);
  }

  static std::vector<core::TrackedDelivery> batch(const std::vector<std::string>& keys) {
    std::vector<core::TrackedDelivery> all;
    for (const std::string& key : keys) {
      all.push_back(semel::test::make_delivery(kConsumer, key, "{}"));
    }
    return all;
  }
  // A batch as an engine makes it, with followers. `line_of` names a message's ordering key.
  static std::vector<core::TrackedDelivery> ordered_batch(
      const std::vector<std::string>& keys,
      const std::function<std::string(const std::string&)>& line_of) {
    core::Sequencer sequencer;
    for (const std::string& key : keys) {
      auto parts = semel::test::make_parts(kConsumer, key);
      parts.ordering_key = line_of(key);
      sequencer.add(core::TrackedDelivery(Message(std::move(parts)), Arrival{}));
    }
    return sequencer.take(keys.size(), true);
  }
  static std::vector<std::string> keys(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back("k" + std::to_string(i));
    return all;
  }

  RememberingSink process(core::StrategyKind kind, std::vector<core::TrackedDelivery>& deliveries) {
    RememberingSink sink;
    make_strategy(kind, context_)->process(deliveries, sink);
    EXPECT_EQ(sink.outcomes.size(), deliveries.size());
    return sink;
  }
  RememberingSink process(core::StrategyKind kind, const std::vector<std::string>& with_keys) {
    auto deliveries = batch(with_keys);
    return process(kind, deliveries);
  }
  // As an engine over a store with run markers.
  void keep_suspects() {
    store_.runs = &markers_;
    take_facets();
    context_.services.recaller = &recaller_;
  }
  // The facets of `store_` as they are now.
  void take_facets() {
    again_ = semel::test::make_fault_store(store_, faults_);
    context_.store = again_.get();
  }
  int effects(const std::string& key) const {
    const auto at = store_.state.effects.find(key);
    return at == store_.state.effects.end() ? 0 : at->second;
  }
  RecordState record_of(const std::string& key) const {
    return store_.state.records.at(semel::test::make_message(kConsumer, key).key().id)->state;
  }

  semel::test::TestEnvironment environment_;
  semel::test::RecordingObserver observer_;
  HandKeeper monitor_;
  ScriptedStore store_;
  semel::test::FaultPlan faults_;
  std::unique_ptr<Store> faulty_;
  Context context_;

 private:
  AnyRunMarkers markers_;
  NoRecaller recaller_;
  std::unique_ptr<Store> again_;
};

}  // namespace semel::strategies
