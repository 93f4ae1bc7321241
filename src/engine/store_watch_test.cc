#include "engine/store_watch.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

#include "tests/support/recording_observer.h"

namespace semel::engine {
namespace {

class StoreWatchTest : public ::testing::Test {
 protected:
  void away() { EXPECT_TRUE(watch_.note(outcome(reason::kStoreUnavailable), now())); }
  void well() { well_since(now()); }
  void well_since(StoreWatch::TimePoint began) { EXPECT_FALSE(watch_.note(outcome({}), began)); }
  static StoreWatch::TimePoint now() { return system_environment().clock->now(); }
  void source_away() { watch_.source_away({ErrorKind::kUnavailable, "R250", "it is away", ""}); }
  // The reports so far: "-" for an outage, "+" for its end.
  std::string told() const {
    std::string text;
    for (const auto& trouble : seen_.troubles()) {
      EXPECT_EQ(trouble.where, "store");
      text += trouble.mended ? '+' : '-';
    }
    return text;
  }

  static Outcome outcome(std::string_view reason) {
    Outcome made;
    made.reason = reason;
    return made;
  }

  test::RecordingObserver seen_;
  StoreWatch watch_{"payments", seen_, *system_environment().clock};
};

TEST_F(StoreWatchTest, DeliveriesTellOnce) {
  well();
  away();
  away();
  well();
  well();
  EXPECT_EQ(told(), "-+");
  away();
  EXPECT_EQ(told(), "-+-");
}

TEST_F(StoreWatchTest, ADeliveryTellsTheErrorOfTheStoreWhole) {
  Outcome lost = outcome(reason::kStoreUnavailable);
  lost.error = "it is away";
  lost.store_error =
      std::make_shared<const Error>(Error{ErrorKind::kUnavailable, "R250", "it is away", "start"});
  EXPECT_TRUE(watch_.note(lost, now()));
  ASSERT_EQ(seen_.troubles().size(), 1U);
  EXPECT_EQ(to_string(seen_.troubles()[0].error), "[R250] it is away; fix: start");
}

TEST_F(StoreWatchTest, WhatBeganBeforeItWasAwayDoesNotTellThatItIsBack) {
  const auto before = now();
  away();
  well_since(before);
  EXPECT_EQ(told(), "-");
  away();
  well();
  EXPECT_EQ(told(), "-+");
}

TEST_F(StoreWatchTest, WhatTheSourceToldNoDeliveryTellsAgain) {
  source_away();
  source_away();
  away();
  EXPECT_EQ(told(), "-");
  well();
  EXPECT_EQ(told(), "-") << "the source has no answer yet";
  watch_.source_back();
  watch_.source_back();
  EXPECT_EQ(told(), "-+");
}

TEST_F(StoreWatchTest, ItIsBackWhenTheLastOfThemSaysSo) {
  away();
  source_away();
  watch_.source_back();
  EXPECT_EQ(told(), "-");
  well();
  EXPECT_EQ(told(), "-+");
}

}  // namespace
}  // namespace semel::engine
