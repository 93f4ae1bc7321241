#include "sources/kafka/retention.h"

#include <gtest/gtest.h>

namespace semel::kafka {
namespace {

using std::chrono::hours;

TEST(KafkaRetention, ATopicKeepsAsLongAsItSays) {
  const Horizon week = horizon_of("orders", "604800000", "delete");
  EXPECT_TRUE(week.known);
  EXPECT_EQ(week.longest, hours(7 * 24));
  EXPECT_EQ(week.said, "topic orders has retention.ms=604800000");
  EXPECT_EQ(horizon_of("orders", "604800000", "compact,delete").longest, hours(7 * 24));
}

TEST(KafkaRetention, ForEverWhereNothingIsDeleted) {
  for (const auto& horizon :
       {horizon_of("orders", "-1", "delete"), horizon_of("orders", "604800000", "compact")}) {
    EXPECT_TRUE(horizon.known);
    EXPECT_FALSE(horizon.longest.has_value());
  }
  EXPECT_EQ(horizon_of("orders", "604800000", "compact").said,
            "topic orders has cleanup.policy=compact");
}

TEST(KafkaRetention, WhatTheBrokerDoesNotSayIsNotKnown) {
  for (const char* text : {"", "soon", "7d"}) {
    const Horizon horizon = horizon_of("orders", text, "delete");
    EXPECT_FALSE(horizon.known) << text;
    EXPECT_NE(horizon.said.find("not known"), std::string::npos);
  }
}

TEST(KafkaRetention, TheLongestCountsAndWhatIsNotKnownIsSaid) {
  const Horizon week = horizon_of("orders", "604800000", "delete");
  const Horizon day = horizon_of("mails", "86400000", "delete");
  const Horizon for_ever = horizon_of("accounts", "-1", "delete");
  const Horizon unknown = horizon_of("bills", "", "delete");
  EXPECT_EQ(longest_of({day, week}).said, week.said);
  EXPECT_TRUE(longest_of({day, week}).known);
  EXPECT_EQ(longest_of({unknown, for_ever, week}).said, for_ever.said);
  const Horizon in_part = longest_of({day, unknown, week});
  EXPECT_FALSE(in_part.known);
  EXPECT_EQ(in_part.longest, hours(7 * 24)) << "what is known counts";
  EXPECT_NE(in_part.said.find("bills"), std::string::npos) << in_part.said;
  EXPECT_FALSE(longest_of({unknown}).longest.has_value());
}

}  // namespace
}  // namespace semel::kafka
