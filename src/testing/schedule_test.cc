#include "testing/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/shrink.h"

namespace semel::testkit {
namespace {

TEST(Schedule, ItsTextMakesItAgain) {
  Schedule schedule;
  schedule.batches = {{0, 1}, {0}, {2, 1, 0}};
  schedule.faults = {{Fault::Kind::kCrash, 7}, {Fault::Kind::kPause, 12}};
  EXPECT_EQ(to_text(schedule), "1+2 1 3+2+1 crash@7 pause@12");
  EXPECT_EQ(schedule_from(to_text(schedule), 3), schedule);
}

TEST(Schedule, WhatIsNoneIsRefused) {
  for (const char* text : {"", " ", "0", "4", "1+", "+1", "1+4", "x", "crash@1", "1 crash@",
                           "1 crash@0", "1 pause@x", "1 crash7", "99999999999999999999999"}) {
    EXPECT_FALSE(schedule_from(text, 3)) << text;
  }
}

TEST(Schedule, AShorterOneIsFoundWhereOneFinds) {
  Schedule schedule;
  schedule.batches = {{0, 1}, {2, 0}, {1}};
  schedule.faults = {{Fault::Kind::kPause, 3}, {Fault::Kind::kCrash, 9}};
  // Message 2 and a crash, wherever it is beyond the third point.
  const auto finds = [](const Schedule& tried) {
    const bool there = std::ranges::any_of(
        tried.batches, [](const auto& batch) { return std::ranges::count(batch, 2U) > 0; });
    const bool crashes = std::ranges::any_of(tried.faults, [](const Fault& fault) {
      return fault.kind == Fault::Kind::kCrash && fault.at > 3;
    });
    return there && crashes;
  };
  EXPECT_EQ(to_text(shrink(schedule, finds)), "3 crash@4");
}

}  // namespace
}  // namespace semel::testkit
