#include "cli/bulk.h"

#include <gtest/gtest.h>

#include "cli/text.h"

namespace semel::cli {
namespace {

using namespace std::chrono_literals;

Settings quiet() {
  Settings settings;
  settings.quiet = 1;
  return settings;
}

TEST(Bulk, APaceIsNotFasterThanItsRate) {
  Console console(quiet());
  const auto begun = std::chrono::steady_clock::now();
  Pace pace(console, Rate{100, 1s}, 31);
  std::size_t left = 31;
  while (left > 0) {
    const std::size_t part = pace.next(left);
    ASSERT_GT(part, 0U);
    ASSERT_LE(part, 10U);
    pace.done(part);
    left -= part;
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 300ms);
}

TEST(Bulk, WithoutARateItMovesInLargeParts) {
  Console console(quiet());
  Pace pace(console, std::nullopt, 1'000'000);
  EXPECT_GT(pace.next(1'000'000), 100U);
  EXPECT_EQ(pace.next(3), 3U);
}

TEST(Bulk, APlanKeepsTheEndsAndAFewSamples) {
  Plan plan;
  for (const int at : {5, 2, 9, 7, 4}) {
    plan.add(StoreTime(std::chrono::milliseconds(at)), [&] { return std::to_string(at); });
  }
  plan.add(std::nullopt, [] { return std::string("never made"); });
  EXPECT_EQ(plan.count, 6U);
  EXPECT_EQ(plan.oldest, StoreTime(2ms));
  EXPECT_EQ(plan.newest, StoreTime(9ms));
  EXPECT_EQ(plan.samples, (std::vector<std::string>{"5", "2", "9"}));
}

TEST(Bulk, APlanThatIsNotCompleteSaysSo) {
  Console console(quiet());
  Plan plan;
  EXPECT_FALSE(agree(console, plan, "Replay?", "dead letter", "dead letters"))
      << "there is nothing to ask about";
  json::Writer whole;
  add_plan(whole.begin_object(), console, plan);
  EXPECT_EQ(whole.end_object().text().find("complete"), std::string::npos);
  plan.complete = false;
  EXPECT_EQ(count_text(plan), "at least 0");
  EXPECT_EQ(agree(console, plan, "Replay?", "dead letter", "dead letters"), kUsage)
      << "it asks, and there is no terminal";
  json::Writer part;
  add_plan(part.begin_object(), console, plan);
  EXPECT_NE(part.end_object().text().find("\"complete\":false"), std::string::npos);
}

}  // namespace
}  // namespace semel::cli
