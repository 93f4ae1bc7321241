#include "admin/record_story.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace semel::admin {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using telemetry::EndedDelivery;
using telemetry::RecentDeliveries;

constexpr UtcTime kNoon{hours(12)};

class RecordStoryTest : public ::testing::Test {
 protected:
  RecordStoryTest() {
    consumer_.name = "payments";
    consumer_.strategy = core::StrategyKind::kDedupTable;
    consumer_.dedup.ttl = config::DedupConfig::Ttl::kFor;
    consumer_.dedup.ttl_for = hours(24);
  }
  RecordStory story(const core::Disclosure& shows = {}) const {
    return story_of({record_, consumer_, deliveries_, kNoon}, shows);
  }
  void delivered(Outcome::Kind outcome, UtcTime at, bool closed_before = false) {
    auto one = std::make_shared<EndedDelivery>();
    one->at = at;
    one->outcome = outcome;
    one->closed_before = closed_before;
    one->attempt = closed_before ? 0 : 1;
    deliveries_.insert(deliveries_.begin(), std::move(one));
  }
  void failed(RecordState state) {
    record_.state = state;
    record_.attempt = 8;
    record_.reason = "attempts.exhausted";
    record_.error = "handler.http.503: card 4111";
  }

  RecordView record_;
  config::ConsumerConfig consumer_;
  std::vector<RecentDeliveries::Pointer> deliveries_;
};

TEST_F(RecordStoryTest, ADuplicateIsExplainedInOneSentence) {
  record_.state = RecordState::kCompleted;
  record_.completed_at = kNoon - hours(2);
  EXPECT_EQ(story().sentence,
            "Its effect was recorded at 1970-01-01 10:00:00. A delivery of this key that comes now "
            "is a duplicate, and nothing is done.");
  delivered(Outcome::Kind::kDone, kNoon - hours(2));
  delivered(Outcome::Kind::kDuplicate, kNoon - minutes(3));
  EXPECT_EQ(story().sentence,
            "Delivered again at 1970-01-01 11:57:00; its effect was recorded at 1970-01-01 "
            "10:00:00, so nothing was done.");
}

TEST_F(RecordStoryTest, ADeliveryBeforeTheRecordSaysNothingOfIt) {
  record_.state = RecordState::kCompleted;
  record_.completed_at = kNoon - minutes(5);
  delivered(Outcome::Kind::kDuplicate, kNoon - minutes(10));
  EXPECT_TRUE(story().sentence.starts_with("Its effect was recorded")) << story().sentence;
  record_.state = RecordState::kDead;
  record_.completed_at.reset();
  record_.first_seen = kNoon - minutes(5);
  delivered(Outcome::Kind::kConflict, kNoon - minutes(8));
  EXPECT_TRUE(story().sentence.starts_with("It was given up")) << story().sentence;
}

TEST_F(RecordStoryTest, WhatWasNotTriedDidNotFail) {
  record_.state = RecordState::kRetrying;
  record_.next_at = kNoon + minutes(5);
  EXPECT_EQ(story().sentence,
            "It waits for its turn: no attempt is counted yet. It is due at 1970-01-01 12:05:00.");
}

TEST_F(RecordStoryTest, TheTimelineIsInOrderAndSaysWhatIsToCome) {
  record_.state = RecordState::kCompleted;
  record_.first_seen = kNoon - hours(3);
  record_.completed_at = kNoon - hours(2);
  delivered(Outcome::Kind::kDuplicate, kNoon - hours(1));
  const RecordStory told = story();
  ASSERT_EQ(told.events.size(), 4U);
  EXPECT_EQ(told.events[0].text, "first seen");
  EXPECT_EQ(told.events[1].text, "its effect was recorded");
  EXPECT_EQ(told.events[2].text, "delivered, duplicate: nothing was done");
  EXPECT_STREQ(told.events[2].kind, "duplicate");
  EXPECT_EQ(told.events[3].at, kNoon + hours(22)) << "the end of its ttl";
  consumer_.dedup.ttl = config::DedupConfig::Ttl::kKeep;
  EXPECT_EQ(story().events.size(), 3U) << "kept for ever";
}

TEST_F(RecordStoryTest, AHeldKeySaysUntilWhen) {
  record_.state = RecordState::kConsuming;
  record_.lease_until = kNoon + minutes(1);
  EXPECT_NE(story().sentence.find("A worker holds it until 1970-01-01 12:01:00"), std::string::npos)
      << story().sentence;
  record_.lease_until = kNoon - minutes(1);
  EXPECT_NE(story().sentence.find("ended at 1970-01-01 11:59:00 without an end of its work"),
            std::string::npos)
      << story().sentence;
}

TEST_F(RecordStoryTest, ARetrySaysWhyAndWhen) {
  failed(RecordState::kRetrying);
  record_.reason = "handler.http.503";
  record_.error = "it is away";
  record_.next_at = kNoon + minutes(5);
  EXPECT_EQ(story().sentence,
            "It failed in 8 attempts (it is away) and is tried again at 1970-01-01 12:05:00. A "
            "delivery of this key that comes before does nothing.");
  record_.next_at = kNoon - minutes(5);
  EXPECT_NE(story().sentence.find("is due to be tried again"), std::string::npos);
}

TEST_F(RecordStoryTest, WhatIsGivenUpSaysWhoMayHelp) {
  failed(RecordState::kDead);
  EXPECT_EQ(
      story().sentence,
      "It was given up after 8 attempts (handler.http.503: card 4111). A delivery of this key "
      "that comes now is settled, and nothing is done, until it is unlocked or its dead "
      "letter replayed.");
  delivered(Outcome::Kind::kDead, kNoon - minutes(1), true);
  EXPECT_EQ(story().sentence,
            "Delivered again at 1970-01-01 11:59:00; it had been given up after 8 attempts "
            "(handler.http.503: card 4111), so nothing was done.");
  failed(RecordState::kParked);
  EXPECT_NE(story().sentence.find("nothing tries it again before it is unlocked"),
            std::string::npos);
  record_.outcome_unknown = true;
  EXPECT_NE(story().sentence.find("so its effect may have happened"), std::string::npos);
}

TEST_F(RecordStoryTest, AConflictIsOfAnotherPayload) {
  record_.state = RecordState::kCompleted;
  record_.completed_at = kNoon - hours(2);
  delivered(Outcome::Kind::kConflict, kNoon - minutes(1));
  EXPECT_EQ(story().sentence,
            "Delivered at 1970-01-01 11:59:00 with another payload under this key: it was not "
            "handled, because the key belongs to the first payload, whose record is completed.");
}

TEST_F(RecordStoryTest, ATextThatIsNotShownIsNotInTheStory) {
  core::Disclosure shows;
  shows.errors = core::Disclosure::Errors::kCause;
  for (const RecordState state :
       {RecordState::kRetrying, RecordState::kParked, RecordState::kDead}) {
    failed(state);
    EXPECT_EQ(story(shows).sentence.find("4111"), std::string::npos) << story(shows).sentence;
    EXPECT_NE(story(shows).sentence.find("handler.http.503"), std::string::npos);
  }
}

TEST_F(RecordStoryTest, NoRecordSaysWhatThatMeans) {
  EXPECT_EQ(why_no_record(consumer_).size(), 4U);
  consumer_.dedup.ttl = config::DedupConfig::Ttl::kKeep;
  EXPECT_EQ(why_no_record(consumer_).size(), 3U) << "none is removed";
  consumer_.strategy = core::StrategyKind::kNatural;
  EXPECT_EQ(why_no_record(consumer_),
            std::vector<std::string>{"Strategy natural keeps no records."});
}

TEST(EndingText, EveryOutcomeHasWords) {
  EndedDelivery one;
  for (const auto kind : {Outcome::Kind::kDone, Outcome::Kind::kDuplicate, Outcome::Kind::kBusy,
                          Outcome::Kind::kConflict, Outcome::Kind::kRetry, Outcome::Kind::kDead,
                          Outcome::Kind::kDiscarded, Outcome::Kind::kParked}) {
    one.outcome = kind;
    EXPECT_FALSE(ending_text(one).empty()) << to_string(kind);
  }
  EXPECT_STREQ(ending_kind(Outcome::Kind::kParked), "parked") << "it has a colour of its own";
  one.outcome = Outcome::Kind::kDuplicate;
  one.at = kNoon;
  one.completed_at = kNoon - hours(2);
  EXPECT_EQ(ending_text(one), "duplicate: its effect was recorded 2 h before");
  one.completed_at = kNoon + hours(2);
  EXPECT_EQ(ending_text(one), "duplicate: its effect was recorded 0 ms before")
      << "clocks that disagree";
}

}  // namespace
}  // namespace semel::admin
