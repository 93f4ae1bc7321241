// OutsideServer: work whose effects are outside of the store under fault. Under fence, a service
// that honours keys applies each effect once, however often it is called; under at_most_once no
// effect happens twice, and one that may have happened is parked.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/chaos/test_bed.h"
#include "tests/chaos/work.h"
#include "tests/support/ledger.h"

namespace semel::test {

// The parameter is the strategy.
class OutsideServer : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> settings() const {
    return {std::string("strategy=") + GetParam(), "handler=async", "ledger=" + path_};
  }
  std::size_t calls() const { return Ledger(path_).balance().keys; }
  void expect_all(Work& work) const {
    const TestBed& bed = work.bed();
    const auto balance = Ledger(path_).balance();
    EXPECT_TRUE(bed.dead().empty());
    if (GetParam() == std::string_view("fence")) {
      EXPECT_EQ(balance.keys, work.sent()) << "lost";
      EXPECT_EQ(bed.completed(), work.sent());
      EXPECT_EQ(bed.held(), 0U);
    } else {
      EXPECT_EQ(balance.doubled, 0U);
      EXPECT_GE(balance.keys + bed.held(), work.sent()) << "lost";
      EXPECT_EQ(bed.completed() + bed.held(), work.sent());
    }
    fmt::print("{}: of {} sent {} had their effect, {} were called twice, {} are parked\n",
               GetParam(), work.sent(), balance.keys, balance.doubled, bed.held());
  }

 private:
  const TempDir folder_;
  const std::string path_ = folder_.file("ledger");
};

}  // namespace semel::test
