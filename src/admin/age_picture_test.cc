#include "admin/age_picture.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::admin {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Buckets: up to a second, a minute, an hour, a day, and older.
DuplicateAges ages(std::vector<std::uint64_t> buckets) {
  return {{{1, 60, 3'600, 86'400}, std::move(buckets), 0}, 0};
}

TEST(AgePicture, WithoutDuplicatesNothingIsKnown) {
  EXPECT_EQ(verdict_of(ages({0, 0, 0, 0, 0}), hours(24)),
            "This process has seen no duplicate since it began, so nothing is known of their age.");
  EXPECT_EQ(age_picture(ages({0, 0, 0, 0, 0}).ages, hours(24)), "");
  EXPECT_EQ(age_picture({}, hours(24)), "");
}

TEST(AgePicture, TheVerdictComparesTheOldestWithTheTtl) {
  EXPECT_EQ(
      verdict_of(ages({5, 1'200, 0, 0, 0}), hours(168)),
      "The oldest of 1,205 duplicates since this process began: up to 1 min. Records are kept "
      "for 7 d: none came near the end of it.");
  EXPECT_EQ(verdict_of(ages({0, 0, 0, 0, 1}), std::nullopt),
            "The age of the one duplicate since this process began: older than 1 d. Records are "
            "kept for ever.");
  DuplicateAges near = ages({0, 0, 0, 3, 0});
  near.near_ttl = 2;
  EXPECT_NE(verdict_of(near, hours(24)).find("2 were older than four fifths of the ttl of 1 d"),
            std::string::npos)
      << verdict_of(near, hours(24));
}

std::size_t row_of_ttl(std::optional<std::chrono::milliseconds> ttl) {
  const std::string picture = age_picture(ages({1, 1, 1, 1, 1}).ages, ttl);
  const auto at = picture.find("class=\"ttl\"");
  if (at == std::string::npos) return 99;
  std::size_t rows = 0;
  for (auto row = picture.find("class=\"bars\""); row < at;
       row = picture.find("class=\"bars\"", row + 1)) {
    ++rows;
  }
  return rows;
}

TEST(AgePicture, TheTtlStandsBehindTheAgesThatItKeeps) {
  EXPECT_EQ(row_of_ttl(seconds(1)), 1U);
  EXPECT_EQ(row_of_ttl(minutes(30)), 3U) << "inside the bucket up to an hour";
  EXPECT_EQ(row_of_ttl(hours(24)), 4U);
  EXPECT_EQ(row_of_ttl(hours(240)), 5U) << "past all of them";
  EXPECT_EQ(row_of_ttl(std::nullopt), 99U) << "kept for ever";
}

TEST(AgePicture, BarsAreAsLongAsTheirCounts) {
  const std::string picture = age_picture(ages({1'000, 500, 1, 0, 0}).ages, hours(24));
  for (const char* bar : {"<rect width=\"400\"", "<rect width=\"200\"", "<rect width=\"2\"",
                          "<rect width=\"0\"", ">1,000</td>"}) {
    EXPECT_NE(picture.find(bar), std::string::npos) << bar << picture;
  }
}

}  // namespace
}  // namespace semel::admin
