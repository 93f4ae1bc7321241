#include "core/retention.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using std::chrono::hours;

const Horizon kWeek{hours(7 * 24), "topic orders has retention.ms=604800000"};
const Horizon kForEver{std::nullopt, "topic orders has retention.ms=-1"};

TEST(Retention, EnoughIsAsLongAsTheSourceKeeps) {
  EXPECT_FALSE(too_short({hours(7 * 24), true}, kWeek).has_value());
  EXPECT_FALSE(too_short({hours(14 * 24), false}, kWeek).has_value());
  EXPECT_FALSE(too_short({std::nullopt, true}, kForEver).has_value()) << "keep";
}

TEST(Retention, WhatIsNotKnownRefusesNobody) {
  EXPECT_FALSE(too_short({hours(1), true}, {std::nullopt, "no right to ask", false}).has_value());
  const Horizon in_part{hours(7 * 24), "topic orders has …, of topic bills nothing is known",
                        false};
  EXPECT_TRUE(too_short({hours(1), true}, in_part).has_value());
  EXPECT_FALSE(too_short({hours(8 * 24), true}, in_part).has_value());
}

TEST(Retention, ShorterNamesBothTimesAndTheFix) {
  const auto error = too_short({hours(1), true}, kWeek);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "D102");
  EXPECT_EQ(error->kind, ErrorKind::kRejected);
  EXPECT_NE(error->message.find("1h"), std::string::npos) << error->message;
  EXPECT_NE(error->message.find("retention.ms=604800000 (7d)"), std::string::npos)
      << error->message;
  EXPECT_NE(error->hint.find("ttl: 7d"), std::string::npos) << error->hint;
  EXPECT_NE(error->hint.find("accept: [D102]"), std::string::npos) << error->hint;
}

TEST(Retention, AutoIsTooShortForATopicThatKeepsForEverAndIsNotTheUsersWord) {
  const auto error = too_short({hours(14 * 24), false}, kForEver);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind, ErrorKind::kBlocked);
  EXPECT_NE(error->message.find("14d (ttl: auto)"), std::string::npos) << error->message;
  EXPECT_NE(error->hint.find("ttl: keep"), std::string::npos) << error->hint;
}

}  // namespace
}  // namespace semel::core
