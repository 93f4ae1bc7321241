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

}  // namespace
}  // namespace semel::kafka
