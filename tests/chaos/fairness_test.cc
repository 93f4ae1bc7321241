// Processes that share a file, which one of them at a time can write.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/chaos/test_bed.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;

// A machine that stalls one process for a while must not fail the test: so the typical number of
// effects that one makes before the other's turn counts.
TEST(SharedFile, TwoProcessesHaveItInTurn) {
  constexpr std::size_t kBatch = 100;
  TestBed bed;
  bed.send_new(1'000);
  const std::vector<std::string> settings{"strategy=dedup_table", "handler=native", "say=1",
                                          "once=0"};
  ChildProcess one = bed.start(settings);
  ChildProcess two = bed.start(settings);
  // Either may have left the other nothing to begin with.
  for (ChildProcess* process : {&one, &two}) {
    ASSERT_TRUE(comes_true([&] {
      bed.send_new(1'000);
      return process->line(milliseconds(100)) == "began";
    }));
  }
  const std::string before = bed.ask("SELECT max(number) FROM effect");
  bed.send_new(rounds(20'000));
  EXPECT_TRUE(comes_true([&] { return bed.completed() == bed.sent(); }, std::chrono::minutes(5)));
  for (ChildProcess* process : {&one, &two}) {
    process->terminate();
    ASSERT_TRUE(process->wait());
  }
  EXPECT_EQ(bed.total(), bed.sent());
  std::vector<std::size_t> turns;
  std::string last;
  for (const auto& row : bed.database().sql()->rows("SELECT pid FROM effect WHERE number > " +
                                                    before + " ORDER BY number")) {
    if (row[0] != last) turns.push_back(0);
    ++turns.back();
    last = row[0];
  }
  std::ranges::sort(turns);
  ASSERT_GE(turns.size(), 2U);
  EXPECT_LE(turns.at(turns.size() / 2), 4 * kBatch);
}

}  // namespace
}  // namespace semel::test
