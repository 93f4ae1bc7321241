#include "engine/consumer_gate.h"

#include <gtest/gtest.h>

#include <semel/memory.h>
#include <semel/spi/store.h>

#include "tests/support/recording_observer.h"
#include "tests/support/test_environment.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Admission = ConsumerGate::Admission;

class ConsumerGateTest : public testing::Test {
 protected:
  ConsumerGateTest() : store_(make_memory_store()), gate_(options()) {
    number_ = store_->attach({"emails", "recipe", false, std::nullopt}).value();
  }
  ConsumerGate::Options options() {
    ConsumerGate::Options options;
    options.consumer = "emails";
    options.number = ConsumerNumber{1};
    options.gates = store_->facets().gates;
    options.clock = &clock_;
    options.observer = &seen_;
    options.changed = [this] { ++changes_; };
    return options;
  }
  // The stored state, after the receiving thread has written it.
  std::optional<ShutGate> kept() {
    gate_.keep();
    return store_->facets().gates->state(number_).value();
  }

  std::unique_ptr<Store> store_;
  ConsumerNumber number_{};
  test::ManualClock clock_;
  test::RecordingObserver seen_;
  int changes_ = 0;
  ConsumerGate gate_;
};

TEST_F(ConsumerGateTest, ShutForATimeThenOneTriesAlone) {
  EXPECT_EQ(gate_.admission(), Admission::kAll);
  gate_.shut(seconds(10), "503");
  EXPECT_EQ(gate_.admission(), Admission::kNone);
  EXPECT_EQ(kept()->why, "503");
  clock_.advance(seconds(10));
  EXPECT_EQ(gate_.admission(), Admission::kOne);
  gate_.tries();
  EXPECT_EQ(gate_.admission(), Admission::kNone);
  gate_.open();
  EXPECT_EQ(gate_.admission(), Admission::kAll);
  EXPECT_FALSE(kept());
}

TEST_F(ConsumerGateTest, ATryThatFailsShutsItAgain) {
  gate_.shut(seconds(1), "refused");
  clock_.advance(seconds(1));
  const auto trial = gate_.tries();
  gate_.shut(seconds(2), "refused again");
  gate_.tried(trial);
  EXPECT_EQ(gate_.admission(), Admission::kNone);
  clock_.advance(seconds(2));
  EXPECT_EQ(gate_.admission(), Admission::kOne);
}

TEST_F(ConsumerGateTest, ATryThatSaysNothingLetsTheNextOneTry) {
  gate_.shut(seconds(1), "refused");
  clock_.advance(seconds(1));
  gate_.tried(gate_.tries());
  EXPECT_EQ(gate_.admission(), Admission::kOne);
}

TEST_F(ConsumerGateTest, ALateTrialDoesNotEndTheNext) {
  gate_.shut(seconds(1), "refused");
  clock_.advance(seconds(1));
  const auto late = gate_.tries();
  gate_.shut(seconds(2), "Retry-After: 2");  // from a call that began earlier
  clock_.advance(seconds(2));
  const auto next = gate_.tries();
  gate_.tried(late);
  EXPECT_EQ(gate_.admission(), Admission::kNone) << "the next one is being tried";
  gate_.tried(next);
  EXPECT_EQ(gate_.admission(), Admission::kOne);
}

TEST_F(ConsumerGateTest, NothingIsWrittenOnAHandlersThread) {
  gate_.shut(seconds(10), "503");
  gate_.pause("410 Gone");
  EXPECT_FALSE(store_->facets().gates->state(number_).value());
  gate_.look();
  EXPECT_FALSE(store_->facets().gates->state(number_).value()->until);
  EXPECT_TRUE(gate_.paused()) << "its own pause is not taken for a resumed one";
}

TEST_F(ConsumerGateTest, SuccessesOfThoseWhoBeganBeforeDoNotOpenIt) {
  gate_.shut(seconds(10), "429");
  gate_.open();
  EXPECT_EQ(gate_.admission(), Admission::kNone);
}

TEST_F(ConsumerGateTest, TheLongerTimeHolds) {
  gate_.shut(seconds(10), "Retry-After: 10");
  gate_.shut(seconds(1), "503");
  clock_.advance(seconds(5));
  EXPECT_EQ(gate_.admission(), Admission::kNone);
}

TEST_F(ConsumerGateTest, APauseEndsByAPersonsWordAlone) {
  gate_.pause("410 Gone");
  clock_.advance(std::chrono::hours(1));
  gate_.shut(milliseconds(1), "503");
  gate_.open();
  gate_.look();
  EXPECT_EQ(gate_.admission(), Admission::kNone);
  EXPECT_TRUE(gate_.paused());
  EXPECT_FALSE(kept()->until);
  ASSERT_TRUE(store_->facets().gates->resume(number_).value());
  gate_.look();
  EXPECT_EQ(gate_.admission(), Admission::kNone) << "asked a moment ago";
  clock_.advance(seconds(2));
  gate_.look();
  EXPECT_EQ(gate_.admission(), Admission::kAll);
}

TEST_F(ConsumerGateTest, APersonPausesItThroughTheStore) {
  ASSERT_TRUE(store_->facets().gates->shut(number_, "by hand", std::nullopt));
  const int before = changes_;
  gate_.look();
  EXPECT_TRUE(gate_.paused());
  EXPECT_GT(changes_, before);
  ASSERT_TRUE(gate_.until().has_value()) << "it must look again";
}

}  // namespace
}  // namespace semel::engine
