#include "sources/kafka/retention.h"

#include <gtest/gtest.h>

namespace semel::kafka {
namespace {

using std::chrono::hours;

constexpr const char* kDayText = "86400000";
constexpr const char* kWeekText = "604800000";
constexpr hours kDay{24};
constexpr hours kWeek{7 * 24};

TEST(KafkaRetention, ATopicKeepsAsLongAsItSaysAndAsLongAsItsSegmentGrows) {
  const Horizon usual = horizon_of("orders", {kWeekText, kWeekText, "delete"});
  EXPECT_TRUE(usual.known);
  EXPECT_EQ(usual.longest, 2 * kWeek);
  EXPECT_EQ(usual.said, "topic orders has retention.ms=604800000 plus segment.ms=604800000");
  EXPECT_EQ(horizon_of("orders", {kDayText, kWeekText, "delete"}).longest, kDay + kWeek);
  EXPECT_EQ(horizon_of("orders", {kWeekText, kDayText, "compact,delete"}).longest, kDay + kWeek);
}

TEST(KafkaRetention, ATimeBeyondAllBoundsIsAHundredYears) {
  constexpr const char* kMost = "9223372036854775807";
  constexpr hours kHundredYears{24 * 36'500};
  for (const auto& settings :
       {TopicSettings{kDayText, kMost, "delete"}, TopicSettings{kMost, kDayText, "delete"},
        TopicSettings{kMost, kMost, "delete"}}) {
    const Horizon horizon = horizon_of("orders", settings);
    EXPECT_TRUE(horizon.known);
    EXPECT_EQ(horizon.longest, kHundredYears) << horizon.said;
  }
}

TEST(KafkaRetention, ForEverWhereNothingIsDeleted) {
  for (const auto& horizon : {horizon_of("orders", {"-1", kWeekText, "delete"}),
                              horizon_of("orders", {kWeekText, kWeekText, "compact"})}) {
    EXPECT_TRUE(horizon.known);
    EXPECT_FALSE(horizon.longest.has_value());
  }
  EXPECT_EQ(horizon_of("orders", {kWeekText, kWeekText, "compact"}).said,
            "topic orders has cleanup.policy=compact");
}

TEST(KafkaRetention, WhatTheBrokerDoesNotSayIsNotKnown) {
  for (const char* text : {"", "soon", "7d"}) {
    const Horizon horizon = horizon_of("orders", {text, kWeekText, "delete"});
    EXPECT_FALSE(horizon.known) << text;
    EXPECT_NE(horizon.said.find("not known"), std::string::npos);
  }
}

TEST(KafkaRetention, WithoutTheTimeOfItsSegmentsTheRestCounts) {
  for (const char* text : {"", "soon", "-1"}) {
    const Horizon horizon = horizon_of("orders", {kWeekText, text, "delete"});
    EXPECT_FALSE(horizon.known) << text;
    EXPECT_EQ(horizon.longest, kWeek);
    EXPECT_NE(horizon.said.find("retention.ms=604800000"), std::string::npos) << horizon.said;
    EXPECT_NE(horizon.said.find("segment.ms"), std::string::npos) << horizon.said;
    EXPECT_EQ(longest_of({horizon}).said, horizon.said);
    EXPECT_EQ(longest_of({horizon}).longest, kWeek);
  }
}

TEST(KafkaRetention, TheLongestCountsAndWhatIsNotKnownIsSaid) {
  const Horizon week = horizon_of("orders", {kWeekText, kDayText, "delete"});
  const Horizon day = horizon_of("mails", {kDayText, kDayText, "delete"});
  const Horizon for_ever = horizon_of("accounts", {"-1", kDayText, "delete"});
  const Horizon unknown = horizon_of("bills", {"", kDayText, "delete"});
  EXPECT_EQ(longest_of({day, week}).said, week.said);
  EXPECT_TRUE(longest_of({day, week}).known);
  EXPECT_EQ(longest_of({unknown, for_ever, week}).said, for_ever.said);
  const Horizon in_part = longest_of({day, unknown, week});
  EXPECT_FALSE(in_part.known);
  EXPECT_EQ(in_part.longest, kWeek + kDay) << "what is known counts";
  EXPECT_NE(in_part.said.find("bills"), std::string::npos) << in_part.said;
  EXPECT_FALSE(longest_of({unknown}).longest.has_value());
}

}  // namespace
}  // namespace semel::kafka
