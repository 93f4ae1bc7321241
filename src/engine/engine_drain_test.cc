// The end of a run: running messages finish, waiting ones are given back, hanging ones are
// reported.
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
  auto e = engine([&](core::TrackedDelivery&, std::size_t) {
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

// Without workers the receiving thread itself hangs.
TEST_P(HangingEngine, AHandlerThatNeverEndsIsReportedAtTheDrainsEnd) {
  options_.once = false;
  options_.workers = GetParam();
  options_.drain_timeout = milliseconds(30);
  options_.grace = milliseconds(30);
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  send("a");
  auto e = engine([&](core::TrackedDelivery&, std::size_t) {
    begun = true;
    begun.notify_all();
    release.wait(false);
    return ended(Outcome::Kind::kDone);
  });
  std::thread running([&] { (void)e->run(); });
  begun.wait(false);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return hung_.load(); }));
  // After its report the engine still waits for the handler, which ends after all.
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 1u);
}

// While other consumers in the process continue, the engine waits and reports; once they stop too,
// it no longer waits.
TEST_P(HangingEngine, WhereOthersGoOnItIsWaitedForUntilTheyStopToo) {
  options_.once = false;
  options_.workers = GetParam();
  options_.drain_timeout = milliseconds(30);
  options_.grace = milliseconds(30);
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  std::atomic<bool> others{true};
  send("a");
  EngineParts parts = parts_over(std::make_unique<MemorySource>(topic_));
  parts.process_goes_on = [&] { return others.load(); };
  parts.strategy = [&](const strategies::Services& services) {
    return std::make_unique<ScriptedStrategy>(
        [&](core::TrackedDelivery&, std::size_t) {
          begun = true;
          begun.notify_all();
          release.wait(false);
          return ended(Outcome::Kind::kDone);
        },
        *services.monitor);
  };
  auto e = Engine::create(options_, std::move(parts));
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  begun.wait(false);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return !seen_.troubles().empty(); }));
  EXPECT_FALSE(hung_);
  others = false;
  EXPECT_TRUE(test::comes_true([&] { return hung_.load(); }));
  release = true;
  release.notify_all();
  running.join();
}

// The handler may hang for ever; meanwhile the source has its other messages back.
TEST_P(HangingEngine, WhileItIsWaitedForOthersMayHaveItsMessages) {
  options_.once = false;
  options_.workers = GetParam();
  options_.drain_timeout = options_.grace = milliseconds(10);
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  for (const char* const key : {"a", "b", "c"}) send(key);
  EngineParts parts = parts_over(std::make_unique<MemorySource>(topic_));
  parts.process_goes_on = [] { return true; };
  parts.strategy = [&](const strategies::Services& services) {
    return std::make_unique<ScriptedStrategy>(
        [&](core::TrackedDelivery&, std::size_t) {
          begun = true;
          begun.notify_all();
          release.wait(false);
          return ended(Outcome::Kind::kDone);
        },
        *services.monitor);
  };
  auto e = Engine::create(options_, std::move(parts));
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  begun.wait(false);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return topic_.in_flight() == 0; }));
  MemorySource others(topic_);
  EXPECT_EQ(others.receive({}).value().arrivals.size(), 3U);
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 0U) << "its settlement came too late";
  EXPECT_EQ(topic_.in_flight(), 3U) << "the others have them";
}

// A source that notes when its intake ends. Its close waits until the test releases it.
class ObservedSource final : public Source {
 public:
  struct Seen {
    std::atomic<bool> intake_ended{false};
    std::atomic<bool> closing{false};
    std::atomic<bool> may_close{true};
  };
  ObservedSource(MemoryTopic& topic, Seen& seen) : source_(topic), seen_(seen) {}
  const SourceTraits& traits() const noexcept override { return source_.traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  void end_intake() noexcept override { seen_.intake_ended = true; }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return source_.settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override {
    seen_.closing = true;
    seen_.may_close.wait(false);
    return source_.close(deadline);
  }

 private:
  MemorySource source_;
  Seen& seen_;
};

// The source's senders are refused immediately, however long the handlers still take.
TEST_P(HangingEngine, ASourceLearnsOfTheDrainBeforeTheHandlersEnd) {
  options_.once = false;
  options_.workers = GetParam();
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  send("a");
  ObservedSource::Seen seen;
  auto e = engine_over(std::make_unique<ObservedSource>(topic_, seen),
                       [&](core::TrackedDelivery&, std::size_t) {
                         begun = true;
                         begun.notify_all();
                         release.wait(false);
                         return ended(Outcome::Kind::kDone);
                       });
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  begun.wait(false);
  EXPECT_FALSE(seen.intake_ended);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return seen.intake_ended.load(); }, seconds(10)));
  EXPECT_FALSE(seen.closing) << "what runs is settled still";
  release = true;
  release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 1U);
}

// Hangs, and counts how often the thread that renews leases calls it.
class TickedStrategy final : public strategies::Strategy {
 public:
  struct Seen {
    std::atomic<bool> begun{false};
    std::atomic<bool> release{false};
    std::atomic<int> ticks{0};
  };
  TickedStrategy(Seen& seen, strategies::HandlerMonitor& monitor)
      : seen_(seen), monitor_(monitor) {}
  void process(std::span<core::TrackedDelivery> batch,
               strategies::OutcomeSink& sink) noexcept override {
    auto watch = monitor_.watch({}, Handlers::kInTurn);
    watch->on_tick([this] { ++seen_.ticks; });
    seen_.begun = true;
    seen_.begun.notify_all();
    seen_.release.wait(false);
    for (core::TrackedDelivery& delivery : batch) sink.ended(delivery, ended(Outcome::Kind::kDone));
  }

 private:
  Seen& seen_;
  strategies::HandlerMonitor& monitor_;
};

// A broker that does not answer delays the close, while the consumer's other calls continue.
TEST_P(HangingEngine, WhileItsSourceIsClosedLeasesAreRenewed) {
  options_.once = false;
  options_.workers = GetParam();
  options_.drain_timeout = options_.grace = milliseconds(10);
  send("a");
  ObservedSource::Seen seen;
  seen.may_close = false;
  TickedStrategy::Seen work;
  EngineParts parts = parts_over(std::make_unique<ObservedSource>(topic_, seen));
  parts.process_goes_on = [] { return true; };
  parts.strategy = [&](const strategies::Services& services) {
    return std::make_unique<TickedStrategy>(work, *services.monitor);
  };
  auto e = Engine::create(options_, std::move(parts));
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  work.begun.wait(false);
  e->stop();
  EXPECT_TRUE(test::comes_true([&] { return seen.closing.load(); }));
  const int before = work.ticks;
  EXPECT_TRUE(test::comes_true([&] { return work.ticks >= before + 3; }, seconds(10)));
  seen.may_close = true;
  seen.may_close.notify_all();
  work.release = true;
  work.release.notify_all();
  running.join();
  EXPECT_EQ(topic_.acked(), 0U) << "others may have had it";
}

TEST_F(EngineTest, AHandlerThatIsWaitedForEndsItsDrainAsUsual) {
  options_.once = false;
  options_.drain_timeout = options_.grace = milliseconds(10);
  std::atomic<bool> begun{false};
  std::atomic<bool> release{false};
  send("a");
  EngineParts parts = parts_over(std::make_unique<MemorySource>(topic_));
  parts.process_goes_on = [] { return true; };
  parts.strategy = [&](const strategies::Services& services) {
    return std::make_unique<ScriptedStrategy>(
        [&](core::TrackedDelivery&, std::size_t) {
          begun = true;
          begun.notify_all();
          release.wait(false);
          return ended(Outcome::Kind::kDone);
        },
        *services.monitor);
  };
  auto e = Engine::create(options_, std::move(parts));
  std::thread running([&] { EXPECT_EQ(e->run(), Ended::kDrained); });
  begun.wait(false);
  e->stop();
  // It tells of the handler first, and then leaves the message to others.
  EXPECT_TRUE(test::comes_true([&] { return topic_.in_flight() == 0; }));
  release = true;
  release.notify_all();
  running.join();
  EXPECT_FALSE(hung_);
  ASSERT_EQ(seen_.troubles().size(), 2U);
  EXPECT_TRUE(seen_.troubles()[1].mended);
  EXPECT_EQ(topic_.acked(), 0U) << "others had it meanwhile: its record decides";
}

INSTANTIATE_TEST_SUITE_P(Workers, HangingEngine, testing::Values(0, 1));

// The rows of a store that may be unavailable.
class RowsOfAStore final : public Source {
 public:
  RowsOfAStore(MemoryTopic& topic, std::atomic<bool>& away, std::atomic<int>& refused)
      : source_(topic), traits_(source_.traits()), away_(away), refused_(refused) {
    traits_.in_store = true;
  }
  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    if (!away_) return source_.settle(settlements);
    ++refused_;
    return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override {
    if (away_) return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
    return source_.close(deadline);
  }

 private:
  MemorySource source_;
  SourceTraits traits_;
  std::atomic<bool>& away_;
  std::atomic<int>& refused_;
};

class DrainWithoutItsStore : public EngineTest {
 protected:
  // Runs "a" when the store becomes unavailable, and holds "b".
  void begin_drain() {
    options_.once = false;
    for (const char* const key : {"a", "b"}) send(key);
    EngineParts parts = parts_over(std::make_unique<RowsOfAStore>(topic_, away_, refused_));
    parts.process_goes_on = [this] { return goes_on_.load(); };
    parts.strategy = [this](const strategies::Services& services) {
      return std::make_unique<ScriptedStrategy>(
          [this](core::TrackedDelivery&, std::size_t) {
            begun_ = true;
            begun_.notify_all();
            release_.wait(false);
            return ended(Outcome::Kind::kDone);
          },
          *services.monitor);
    };
    engine_ = Engine::create(options_, std::move(parts));
    running_ = std::thread([this] { ended_ = engine_->run(); });
    begun_.wait(false);
    away_ = true;
    engine_->stop();
    release_ = true;
    release_.notify_all();
    // Refused at the beginning of the drain, after the handler has ended, and when all else is
    // done.
    EXPECT_TRUE(test::comes_true([this] { return refused_ >= 3; }));
  }
  ~DrainWithoutItsStore() override {
    goes_on_ = false;
    if (running_.joinable()) running_.join();
  }

  std::atomic<bool> away_{false};
  std::atomic<int> refused_{0};
  std::atomic<bool> goes_on_{true};
  std::atomic<bool> begun_{false};
  std::atomic<bool> release_{false};
  std::unique_ptr<Engine> engine_;
  std::thread running_;
  Ended ended_ = Ended::kFailed;
};

// Otherwise the next engine would treat rows that this process still holds as its own.
TEST_F(DrainWithoutItsStore, InAProcessThatGoesOnEndsOnceTheStoreHasItsRows) {
  begin_drain();
  EXPECT_TRUE(test::comes_true([this] { return !seen_.troubles().empty(); }));
  EXPECT_TRUE(topic_.told().empty());
  away_ = false;
  running_.join();
  EXPECT_EQ(ended_, Ended::kDrained);
  ASSERT_EQ(topic_.told().size(), 2U);
  EXPECT_EQ(topic_.acked(), 1U);
  EXPECT_EQ(topic_.in_flight(), 0U);
  EXPECT_TRUE(seen_.troubles().back().mended);
}

TEST_F(DrainWithoutItsStore, EndsWithItsProcess) {
  begin_drain();
  goes_on_ = false;
  running_.join();
  EXPECT_EQ(ended_, Ended::kDrained);
  EXPECT_TRUE(topic_.told().empty());
}

TEST_F(DrainWithoutItsStore, EndsWhereTheRunIsNotToWaitForIt) {
  options_.fail_on_unavailable = true;
  begin_drain();
  running_.join();
  EXPECT_EQ(ended_, Ended::kUnavailable);
}

// Like real strategies, gives back messages that have not begun when the drain begins.
class WaitingStrategy final : public strategies::Strategy {
 public:
  WaitingStrategy(std::atomic<int>& begun, strategies::HandlerMonitor& monitor)
      : begun_(begun), monitor_(monitor) {}
  void process(std::span<core::TrackedDelivery> batch,
               strategies::OutcomeSink& sink) noexcept override {
    auto watch = monitor_.watch({}, Handlers::kInTurn);
    for (core::TrackedDelivery& delivery : batch) {
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
  strategies::HandlerMonitor& monitor_;
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
    parts.strategy = parts.give_up_strategy = [&](const strategies::Services& services) {
      return std::make_unique<WaitingStrategy>(begun, *services.monitor);
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
