// A run whose handler hangs: its other messages go to other processes, and it goes on once the
// handler is back.
#include <algorithm>
#include <thread>
#include <vector>

#include "core/stands_aside.h"
#include "engine/test_engine.h"
#include "tests/support/test_environment.h"

namespace semel::engine {
namespace {

using std::chrono::hours;

// A source that notes when it is asked to stand aside.
class AsideSource final : public Source, public core::StandsAside {
 public:
  struct Seen {
    std::atomic<bool> aside{false};
    std::atomic<int> asked{0};
    std::atomic<std::size_t> extended{0};  // tags
  };
  AsideSource(MemoryTopic& topic, Seen& seen) : source_(topic), seen_(seen) {}
  const SourceTraits& traits() const noexcept override { return source_.traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override { return source_.receive(limits); }
  Wakeup wakeup() override { return source_.wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return source_.settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    seen_.extended += tags.size();
    return source_.extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_.set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override { return source_.close(deadline); }
  void stand_aside(bool aside) noexcept override {
    seen_.aside = aside;
    ++seen_.asked;
  }

 private:
  MemorySource source_;
  Seen& seen_;
};

// Counts the looks of the thread that renews leases, and reports a batch at its end only.
class WatchedStrategy final : public strategies::Strategy {
 public:
  using Handle = std::function<void(core::TrackedDelivery&)>;
  WatchedStrategy(Handle handle, std::atomic<int>& looks, strategies::HandlerMonitor& monitor)
      : handle_(std::move(handle)), looks_(looks), monitor_(monitor) {}
  void process(std::span<core::TrackedDelivery> batch,
               strategies::OutcomeSink& sink) noexcept override {
    auto watch = monitor_.watch({}, Handlers::kInTurn);
    watch->on_tick([this] { ++looks_; });
    for (core::TrackedDelivery& delivery : batch) {
      (void)watch->handler_begins(0);
      handle_(delivery);
      watch->handler_ended(0);
    }
    for (core::TrackedDelivery& delivery : batch) sink.ended(delivery, ended(Outcome::Kind::kDone));
  }

 private:
  const Handle handle_;
  std::atomic<int>& looks_;
  strategies::HandlerMonitor& monitor_;
};

// The clock passes these times only where a test moves it.
class HangTest : public EngineTest {
 protected:
  HangTest() {
    options_.once = false;
    options_.batch_first = 1;
    options_.pace.batch_max = 10;
    options_.handler_timeout = options_.grace = hours(1);
    options_.lease = hours(1);
    environment_.clock = &clock_;
  }
  ~HangTest() override { end(); }

  // The handler of "hangs" returns only when it is released.
  void begin(std::function<void(core::TrackedDelivery&)> handle = {}) {
    EngineParts parts = parts_over(std::make_unique<AsideSource>(topic_, source_));
    parts.environment = &environment_;
    parts.process_goes_on = [] { return false; };
    parts.strategy = [this, handle](const strategies::Services& services) {
      return std::make_unique<WatchedStrategy>(
          [this, handle](core::TrackedDelivery& delivery) {
            if (handle) handle(delivery);
            if (delivery.message.key().text != "hangs") return;
            hangs_ = true;
            hangs_.notify_all();
            release_.wait(false);
          },
          looks_, *services.monitor);
    };
    engine_ = Engine::create(options_, std::move(parts));
    running_ = std::thread([this] { ended_ = engine_->run(); });
  }
  // Returns once the handler hangs, and everything sent has arrived.
  void hang() {
    hangs_.wait(false);
    EXPECT_TRUE(test::comes_true([&] { return topic_.deliveries() == topic_.added(); }));
    clock_.advance(hours(2));
  }
  void release() {
    release_ = true;
    release_.notify_all();
  }
  void end() {
    if (!running_.joinable()) return;
    release();
    engine_->stop();
    running_.join();
    EXPECT_EQ(ended_, Ended::kDrained);
  }
  void wait_for_looks(int more) {
    const int before = looks_;
    EXPECT_TRUE(test::comes_true([&] { return looks_ >= before + more; }));
  }

  test::PassingClock clock_;
  Environment environment_ = system_environment();
  AsideSource::Seen source_;
  std::atomic<bool> hangs_{false};
  std::atomic<bool> release_{false};
  std::atomic<int> looks_{0};
  std::unique_ptr<Engine> engine_;
  std::thread running_;
  Ended ended_ = Ended::kFailed;
};

class HungRun : public HangTest, public testing::WithParamInterface<int> {
 protected:
  HungRun() { options_.workers = GetParam(); }
};

// Without workers the receiving thread itself hangs.
TEST_P(HungRun, LeavesWhatHasNotBegunToOthersAndGoesOnWhenTheHandlerIsBack) {
  for (const char* const key : {"hangs", "b", "c"}) send(key);
  begin();
  hang();
  ASSERT_TRUE(test::comes_true([&] { return topic_.in_flight() == 1; }));
  ASSERT_EQ(seen_.troubles().size(), 1U);
  EXPECT_EQ(seen_.troubles()[0].where, "handler");
  EXPECT_FALSE(seen_.troubles()[0].mended);
  EXPECT_TRUE(source_.aside);
  send("d");
  wait_for_looks(3);
  {
    MemorySource others(topic_);
    EXPECT_EQ(others.receive({}).value().arrivals.size(), 3U) << "it receives nothing meanwhile";
  }
  release();
  EXPECT_TRUE(topic_.wait_all_acked());
  EXPECT_FALSE(source_.aside);
  EXPECT_EQ(source_.asked, 2);
  EXPECT_TRUE(test::comes_true([&] { return seen_.troubles().size() == 2; }));
  EXPECT_TRUE(seen_.troubles()[1].mended);
  EXPECT_FALSE(hung_);
}

TEST_P(HungRun, KeepsNothingFromOthersByRenewal) {
  for (const char* const key : {"hangs", "hangs"}) send(key);
  begin();
  hang();
  ASSERT_TRUE(test::comes_true([&] { return !seen_.troubles().empty(); }));
  const std::size_t extended = source_.extended;
  clock_.advance(hours(1));
  wait_for_looks(3);
  EXPECT_EQ(source_.extended, extended);
}

TEST_P(HungRun, IsDrainedAsUsualWhereTheHandlerComesBackThen) {
  options_.grace = hours(1);
  for (const char* const key : {"hangs", "b"}) send(key);
  begin();
  hang();
  ASSERT_TRUE(test::comes_true([&] { return topic_.in_flight() == 1; }));
  engine_->stop();
  wait_for_looks(2);
  end();
  EXPECT_EQ(topic_.acked(), 1U);
  EXPECT_EQ(topic_.in_flight(), 0U);
  ASSERT_EQ(seen_.troubles().size(), 2U);
  EXPECT_TRUE(seen_.troubles()[1].mended);
}

INSTANTIATE_TEST_SUITE_P(Workers, HungRun, testing::Values(0, 1));

TEST_F(HangTest, WhileAWorkerIsLeftTheRunGoesOn) {
  options_.workers = 2;
  send("hangs");
  begin();
  hang();
  wait_for_looks(3);
  for (const char* const key : {"b", "c"}) send(key);
  EXPECT_TRUE(test::comes_true([&] { return topic_.acked() == 2; }));
  EXPECT_TRUE(seen_.troubles().empty());
  EXPECT_EQ(source_.asked, 0);
}

TEST_F(HangTest, OfTwoWorkersBothMustHang) {
  options_.workers = 2;
  for (const char* const key : {"hangs", "b"}) send(key);
  std::atomic<bool> begun{false};
  begin([&](core::TrackedDelivery& delivery) {
    if (delivery.message.key().text != "b") return;
    begun = true;
    begun.notify_all();
    release_.wait(false);
  });
  begun.wait(false);
  hang();
  EXPECT_TRUE(test::comes_true([&] { return source_.aside.load(); }));
}

// None of its handlers is past its time, though the batch is.
TEST_F(HangTest, ALongBatchOfShortCallsIsNoHang) {
  options_.workers = 1;
  options_.batch_first = options_.pace.batch_max = 4;
  for (const char* const key : {"a", "b", "c", "d"}) send(key);
  begin([this](core::TrackedDelivery&) {
    clock_.advance(std::chrono::minutes(59));
    wait_for_looks(3);
  });
  EXPECT_TRUE(topic_.wait_all_acked());
  EXPECT_TRUE(seen_.troubles().empty());
}

}  // namespace
}  // namespace semel::engine
