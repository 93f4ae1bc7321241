// One consumer and its successive engines, whose ends the test decides.
#include "compose/running_consumer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/waiting.h"

namespace semel::compose {
namespace {

using engine::Ended;
using Phase = Service::Phase;

// Ends once it is stopped, or by itself.
class FakeEngine final : public engine::Engine {
 public:
  struct Script {
    Ended ended = Ended::kDrained;
    std::size_t suspects_left = 0;
    bool by_itself = false;
  };
  FakeEngine(Script script, std::function<void()> gone)
      : script_(script), gone_(std::move(gone)), stopped_(script.by_itself) {}
  ~FakeEngine() override { gone_(); }

  Ended run() override {
    stopped_.wait(false);
    return script_.ended;
  }
  std::optional<Error> final_error() const override { return std::nullopt; }
  std::size_t suspects_left() const override { return script_.suspects_left; }
  void stop() noexcept override {
    stopped_ = true;
    stopped_.notify_all();
  }
  void nudge() noexcept override {}
  std::vector<Figures> figures() override { return {}; }
  std::size_t in_flight() const override { return 0; }

 private:
  const Script script_;
  const std::function<void()> gone_;
  std::atomic<bool> stopped_;
};

class RunningConsumerTest : public ::testing::Test {
 protected:
  ~RunningConsumerTest() override { end(); }

  void begin(std::size_t suspects_first = 0) {
    RunningConsumer::Options options;
    options.name = "a";
    options.suspects_first = suspects_first;
    options.may_begin = [this](const config::Config&) { return may_begin_.load(); };
    options.make = [this](const config::Config&, const RunningConsumer::Carried& carried) {
      return make(carried);
    };
    options.changed = [] {};
    options.trouble = [this](const Error&, bool mended) { mended_ = mended; };
    consumer_ = std::make_unique<RunningConsumer>(std::move(options), config());
    run_ = std::thread([this] {
      consumer_->run();
      over_ = true;
    });
  }
  void end() {
    if (!run_.joinable()) return;
    may_begin_ = true;
    consumer_->stop();
    run_.join();
  }
  RunningConsumer::SharedConfig config() const {
    auto made = std::make_shared<config::Config>();
    made->store.on_unavailable = on_unavailable_;
    return made;
  }
  // The consumer's own thread makes one engine after the other.
  Result<std::unique_ptr<engine::Engine>> make(const RunningConsumer::Carried& carried) {
    carried_ = carried.suspects_first;
    ++made_;
    if (is_away_) return failure({away_as_, "R206", "the store is away", {}});
    FakeEngine::Script script;
    if (!scripts_.empty()) {
      script = scripts_.front();
      scripts_.pop_front();
    }
    return std::make_unique<FakeEngine>(
        script, [this] { ending_when_gone_ = consumer_->ending() != nullptr; });
  }
  bool comes_to(Phase wanted) const {
    return test::comes_true([&] { return consumer_->phase() == wanted; });
  }

  using OnUnavailable = config::StoreConfig::OnUnavailable;
  OnUnavailable on_unavailable_ = OnUnavailable::kPause;
  std::deque<FakeEngine::Script> scripts_;  // scripts of the next engines
  std::atomic<bool> may_begin_{true};
  std::atomic<bool> is_away_{false};
  std::atomic<ErrorKind> away_as_{ErrorKind::kUnavailable};
  std::atomic<int> made_{0};
  std::atomic<std::size_t> carried_{0};
  std::atomic<bool> mended_{true};
  std::atomic<bool> ending_when_gone_{false};
  std::atomic<bool> over_{false};
  std::unique_ptr<RunningConsumer> consumer_;
  std::thread run_;
};

TEST_F(RunningConsumerTest, WhereTheStoreIsNotWaitedForItEndsWithTheOutage) {
  on_unavailable_ = OnUnavailable::kFail;
  begin();
  ASSERT_TRUE(comes_to(Phase::kRunning));
  away_as_ = ErrorKind::kRejected;
  is_away_ = true;
  ASSERT_TRUE(consumer_->restart(config()));
  ASSERT_TRUE(test::comes_true([&] { return made_ >= 2; }));
  EXPECT_TRUE(comes_to(Phase::kStarting)) << "a wrong request may be mended by another config";
  away_as_ = ErrorKind::kBlocked;
  ASSERT_TRUE(test::comes_true([&] { return over_.load(); }));
  EXPECT_EQ(consumer_->phase(), Phase::kOver);
  EXPECT_EQ(consumer_->end().ended, Ended::kUnavailable);
  EXPECT_TRUE(consumer_->end().by_itself);
  EXPECT_FALSE(mended_) << "it was told";
}

TEST_F(RunningConsumerTest, ElseItTriesUntilTheStoreIsThere) {
  begin();
  ASSERT_TRUE(comes_to(Phase::kRunning));
  is_away_ = true;
  ASSERT_TRUE(consumer_->restart(config()));
  ASSERT_TRUE(test::comes_true([&] { return made_ >= 3; }));
  EXPECT_EQ(consumer_->phase(), Phase::kStarting);
  is_away_ = false;
  EXPECT_TRUE(comes_to(Phase::kRunning));
  EXPECT_TRUE(mended_);
}

// The engine found the store unavailable while the consumer was being drained.
TEST_F(RunningConsumerTest, AnOutageThatTheRunDoesNotWaitForEndsItAlsoInADrain) {
  scripts_ = {{.ended = Ended::kUnavailable}};
  begin();
  ASSERT_TRUE(comes_to(Phase::kRunning));
  ASSERT_TRUE(consumer_->drain());
  ASSERT_TRUE(test::comes_true([&] { return over_.load(); }));
  EXPECT_EQ(consumer_->end().ended, Ended::kUnavailable);
  EXPECT_TRUE(consumer_->end().by_itself);
}

TEST_F(RunningConsumerTest, HowAnEngineEndedBeforeADrainIsNotTheEndOfTheRun) {
  scripts_ = {{.ended = Ended::kFailed}};
  begin();
  ASSERT_TRUE(comes_to(Phase::kRunning));
  ASSERT_TRUE(consumer_->drain());
  ASSERT_TRUE(comes_to(Phase::kDrained));
  EXPECT_EQ(consumer_->end().ended, Ended::kDrained);
  end();
  EXPECT_EQ(consumer_->end().ended, Ended::kDrained);
}

TEST_F(RunningConsumerTest, HowItEndedByItselfIs) {
  scripts_ = {{.ended = Ended::kFailed, .by_itself = true}};
  begin();
  ASSERT_TRUE(test::comes_true([&] { return over_.load(); }));
  EXPECT_EQ(consumer_->end().ended, Ended::kFailed);
  EXPECT_TRUE(consumer_->end().by_itself);
}

TEST_F(RunningConsumerTest, SuspectsGoFromEngineToEngineUntilNoneIsLeft) {
  scripts_ = {{.suspects_left = 7}, {}, {}};
  begin(5);
  ASSERT_TRUE(comes_to(Phase::kRunning));
  EXPECT_EQ(carried_, 5U);
  ASSERT_TRUE(consumer_->restart(config()));
  ASSERT_TRUE(test::comes_true([&] { return made_ == 2; }));
  EXPECT_EQ(carried_, 7U);
  ASSERT_TRUE(comes_to(Phase::kRunning));
  ASSERT_TRUE(consumer_->restart(config()));
  ASSERT_TRUE(test::comes_true([&] { return made_ == 3; }));
  EXPECT_EQ(carried_, 0U);
  EXPECT_EQ(consumer_->suspects_left(), 0U);
}

TEST_F(RunningConsumerTest, WithoutAnEngineItKeepsTheSuspectsOfTheOneBefore) {
  may_begin_ = false;
  begin(5);
  consumer_->stop();
  run_.join();
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(consumer_->suspects_left(), 5U);
}

TEST_F(RunningConsumerTest, ItBeginsOnceItMay) {
  may_begin_ = false;
  begin();
  ASSERT_TRUE(comes_to(Phase::kStarting));
  consumer_->look_again();
  ASSERT_TRUE(consumer_->drain());
  ASSERT_TRUE(comes_to(Phase::kDrained));
  ASSERT_TRUE(consumer_->resume());
  ASSERT_TRUE(comes_to(Phase::kStarting));
  EXPECT_EQ(made_, 0);
  may_begin_ = true;
  consumer_->look_again();
  EXPECT_TRUE(comes_to(Phase::kRunning));
}

// Other consumers wait for this one until its sources are closed.
TEST_F(RunningConsumerTest, AnEngineEndsUntilAllOfItIsGone) {
  begin();
  ASSERT_TRUE(comes_to(Phase::kRunning));
  EXPECT_EQ(consumer_->ending(), nullptr);
  ASSERT_TRUE(consumer_->drain());
  ASSERT_TRUE(comes_to(Phase::kDrained));
  EXPECT_TRUE(ending_when_gone_);
  EXPECT_EQ(consumer_->ending(), nullptr);
}

}  // namespace
}  // namespace semel::compose
