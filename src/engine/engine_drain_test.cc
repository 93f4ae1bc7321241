// How a run ends: what runs is finished, what waits is given back, what hangs is told.
#include <thread>

#include <semel/admin/records.h>

#include "engine/test_engine.h"

namespace semel::engine {
namespace {

TEST_F(EngineTest, ADrainFinishesWhatRunsAndGivesBackTheRest) {
  options_.once = false;
  options_.pace.batch_max = 1;
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  for (int i = 0; i < 20; ++i) send("k" + std::to_string(i));
  auto e = engine([&](Delivery&, std::size_t) {
    begun = true;
    begun.notify_all();
    release.wait(false);
    return ended(Outcome::Kind::kDone);
  });
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  begun.wait(false);
  e->stop();
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 1u);
  EXPECT_EQ(topic_.unsettled(), 19u);
  EXPECT_EQ(topic_.in_flight(), 0u);
}

class HangingEngine : public EngineTest, public testing::WithParamInterface<int> {};

// With no workers it is the receiving thread itself that hangs.
TEST_P(HangingEngine, AHandlerThatNeverEndsIsReportedAtTheDrainsEnd) {
  options_.once = false;
  options_.workers = GetParam();
  options_.drain_timeout = milliseconds(30);
  options_.grace = milliseconds(30);
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  send("a");
  auto e = engine([&](Delivery&, std::size_t) {
    begun = true;
    begun.notify_all();
    release.wait(false);
    return ended(Outcome::Kind::kDone);
  });
  std::thread running([&] { (void)e->run(); });
  begun.wait(false);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return hung_.load(); }));
  // Told of it, the engine takes nothing from the handler, which ends after all.
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Workers, HangingEngine, testing::Values(0, 1));

// A strategy as they are: what has not begun when the drain has is given back.
class WaitingStrategy final : public Strategy {
 public:
  WaitingStrategy(std::atomic<int>& begun, strategies::Keeper& keeper)
      : begun_(begun), keeper_(keeper) {}
  void process(std::span<Delivery> batch, EndingSink& sink) noexcept override {
    auto watch = keeper_.watch({}, Handlers::kInTurn);
    for (Delivery& delivery : batch) {
      const std::stop_token stop = watch->handler_begins(0);
      if (!stop.stop_requested()) {
        ++begun_;
        begun_.notify_all();
        while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
      }
      watch->handler_ended(0);
      sink.ended(delivery, ended(Outcome::Kind::kBusy, Outcome::Settle::kRelease));
    }
  }

 private:
  std::atomic<int>& begun_;
  strategies::Keeper& keeper_;
};

TEST_F(EngineTest, AHurriedDrainReachesHandlersWithAndWithoutWorkers) {
  options_.once = false;
  options_.batch_first = options_.pace.batch_max = 10;
  for (const int workers : {0, 1}) {
    SCOPED_TRACE(workers);
    options_.workers = workers;
    MemoryTopic topic;
    for (int i = 0; i < 10; ++i) topic.add(payload_with_id("k" + std::to_string(i)));
    std::atomic<int> begun{0};
    EngineParts parts;
    parts.store = store_.get();
    parts.sources.push_back(std::make_unique<MemorySource>(topic));
    parts.strategy = parts.condemned = [&](const strategies::Services& services) {
      return std::make_unique<WaitingStrategy>(begun, *services.keeper);
    };
    parts.environment = &system_environment();
    parts.observer = &seen_;
    parts.suspect_gate = &gate_;
    parts.hung = [this](const std::string&) { hung_ = true; };
    auto e = Engine::create(options_, std::move(parts));
    std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
    begun.wait(0);
    e->stop();
    e->stop();
    running.join();
    EXPECT_EQ(begun, 1) << "a handler began after the drain had";
    EXPECT_FALSE(hung_);
    EXPECT_EQ(topic.unsettled(), 10u);
    EXPECT_EQ(topic.in_flight(), 0u);
  }
}

TEST_F(EngineTest, ADryRunEndsThoughMessagesAreRefusedAndWorkersWait) {
  options_.dry_run = true;
  for (const int workers : {0, 2}) {
    SCOPED_TRACE(workers);
    options_.workers = workers;
    options_.pace.max_in_flight = 4;
    MemoryTopic topic;
    topic.add("not json");
    for (int i = 0; i < 50; ++i) topic.add(payload_with_id("k" + std::to_string(i)));
    topic.finish();
    const std::size_t before = seen_.refused().size();
    test::MemorySourceOptions source;
    source.redelivers = false;
    EXPECT_EQ(run_over(std::make_unique<MemorySource>(topic, source)), Ended::kFinished);
    EXPECT_EQ(seen_.refused().size(), before + 1);
    EXPECT_EQ(topic.acked(), 0u);
    EXPECT_TRUE(store_->facets().dead_letters->list({})->empty());
  }
}

}  // namespace
}  // namespace semel::engine
