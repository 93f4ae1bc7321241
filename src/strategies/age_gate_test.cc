#include "strategies/age_gate.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

#include "tests/support/test_environment.h"

namespace semel::strategies {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

// A store whose clock says another year than this machine's, before it or after it.
class AgeGateTest : public ::testing::TestWithParam<int> {
 protected:
  StoreTime store_now() const { return StoreTime(days(GetParam())) + passed_; }
  void pass(milliseconds time) {
    passed_ += time;
    clock_.advance(time);
  }
  Arrival sent_before(milliseconds age) const {
    Arrival arrival;
    arrival.broker_time = store_now() - age;
    return arrival;
  }
  std::optional<StoreTime> time_for(const Arrival& arrival) {
    std::optional<AgeGate::TimePoint> oldest;
    AgeGate::find_oldest(arrival, oldest);
    return gate_.time_for(oldest).value();
  }

  test::ManualClock clock_;
  milliseconds passed_{0};
  int reads_ = 0;
  bool away_ = false;
  AgeGate gate_{*core::age_limit_of(days(8), core::TooOld::kPark),
                [this]() -> Result<StoreTime> {
                  ++reads_;
                  if (away_) return failure(Error{ErrorKind::kUnavailable, "R200", "away", {}});
                  return store_now();
                },
                clock_};
};

INSTANTIATE_TEST_SUITE_P(Clocks, AgeGateTest, testing::Values(365, 365 * 90));

TEST_P(AgeGateTest, IsOpenUntilAHorizonIsKnown) {
  EXPECT_FALSE(time_for(sent_before(days(9))));
  EXPECT_FALSE(gate_.refuse(sent_before(days(9)), store_now()));
  gate_.note(Horizon{days(4), "a topic", true});
  EXPECT_TRUE(gate_.refuse(sent_before(days(9)), store_now()));
  gate_.note(Horizon{std::nullopt, "kept for ever", true});
  EXPECT_FALSE(gate_.refuse(sent_before(days(9)), store_now()));
  EXPECT_EQ(reads_, 0);
}

TEST_P(AgeGateTest, RefusesByTheStoresClockWhatHasNoRecord) {
  gate_.note(Horizon{days(4), "a topic", true});
  const Arrival old = sent_before(days(7) + minutes(1));
  const auto now = time_for(old);
  ASSERT_EQ(now, store_now());
  const auto refused = gate_.refuse(old, Acquired{}, *now);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, Decision::Kind::kParked);
  EXPECT_EQ(refused->reason, reason::kTooOld);
  EXPECT_TRUE(refused->untried);
  EXPECT_FALSE(gate_.refuse(sent_before(days(7)), Acquired{}, *now)) << "in time";
  EXPECT_FALSE(gate_.refuse(Arrival{}, Acquired{}, *now)) << "its broker gives no time";
  Acquired retry;
  retry.had_record = true;
  EXPECT_FALSE(gate_.refuse(old, retry, *now));
  Acquired taken_over;
  taken_over.taken_over = true;
  EXPECT_FALSE(gate_.refuse(old, taken_over, *now));
}

TEST_P(AgeGateTest, AsksTheStoreNowAndThenAndForWhatLooksOld) {
  gate_.note(Horizon{days(4), "a topic", true});
  EXPECT_TRUE(time_for(sent_before(hours(1)))) << "it knows no time yet";
  EXPECT_FALSE(time_for(sent_before(hours(1))));
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(time_for(sent_before(days(4))));
  EXPECT_EQ(reads_, 2);
  pass(minutes(9));
  EXPECT_FALSE(time_for(sent_before(hours(1))));
  EXPECT_EQ(reads_, 2);
  pass(minutes(2));
  EXPECT_TRUE(time_for(sent_before(hours(1)))) << "its reading is too long ago";
  EXPECT_FALSE(time_for(sent_before(-days(1)))) << "the broker's clock is ahead";
  EXPECT_EQ(reads_, 3);
}

TEST_P(AgeGateTest, ReadsTheStoresClockAfterASuspension) {
  gate_.note(Horizon{days(4), "a topic", true});
  EXPECT_TRUE(time_for(sent_before(hours(1))));
  const Arrival sent = sent_before(hours(1));
  passed_ += days(8);
  clock_.suspend(days(8));
  const auto now = time_for(sent);
  ASSERT_TRUE(now);
  EXPECT_TRUE(gate_.refuse(sent, Acquired{}, *now)) << "its record may be forgotten by now";
}

TEST_P(AgeGateTest, AStoreThatIsAwayIsAnError) {
  gate_.note(Horizon{days(4), "a topic", true});
  away_ = true;
  const auto now = gate_.time_for(std::chrono::system_clock::time_point(store_now() - days(9)));
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().kind, ErrorKind::kUnavailable);
  away_ = false;
  EXPECT_TRUE(time_for(sent_before(days(9))));
}

}  // namespace
}  // namespace semel::strategies
