#include "compose/purge_pace.h"

#include <gtest/gtest.h>

namespace semel::compose {
namespace {

using std::chrono::milliseconds;

// The number of turns until a purge.
int turns_until_one(PurgePace& pace) {
  int turns = 1;
  while (pace.turn() == milliseconds(0)) ++turns;
  return turns;
}

TEST(PurgePace, ComesNowAndThenWhereNothingIsLeftOver) {
  PurgePace pace;
  EXPECT_EQ(turns_until_one(pace), PurgePace::kTurnsBetween);
  pace.note(false);
  EXPECT_EQ(turns_until_one(pace), PurgePace::kTurnsBetween);
}

TEST(PurgePace, TakesMoreTimeWhileMoreIsLeftAndNeverAllOfIt) {
  PurgePace pace;
  turns_until_one(pace);
  milliseconds last = PurgePace::kFirst;
  for (int i = 0; i < 20; ++i) {
    pace.note(true);
    const milliseconds budget = pace.turn();
    EXPECT_EQ(budget, std::min(2 * last, PurgePace::kMost));
    last = budget;
  }
  EXPECT_LT(last, PurgePace::kTurn / 4);
  pace.note(false);
  EXPECT_EQ(turns_until_one(pace), PurgePace::kTurnsBetween);
  EXPECT_EQ(PurgePace().turn(), milliseconds(0));
}

// On such a server, a day's records are purged within half a minute.
TEST(PurgePace, ManyAreForgottenSoon) {
  constexpr int kAMillisecond = 100;
  constexpr int kRecords = 300'000;
  PurgePace pace;
  turns_until_one(pace);
  int left = kRecords, turns = 0;
  for (milliseconds budget = PurgePace::kFirst; left > 0; budget = pace.turn(), ++turns) {
    left -= static_cast<int>(budget.count()) * kAMillisecond;
    pace.note(left > 0);
  }
  EXPECT_LT(turns, 30);
}

}  // namespace
}  // namespace semel::compose
