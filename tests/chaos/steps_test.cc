// Steps through kills: a finished step is called once, however its process ends, and the steps of a
// message that is given up are undone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/spi/step_store.h>

#include "core/failpoints.h"
#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"

namespace semel::test {
namespace {

// Each has two steps; the last one is given up after both.
const std::vector<std::string> kIds = {"a", "b", "bad-c"};

struct Kill {
  std::string point;
  int nth;
  // The call that was made and not journalled is made again, under its key.
  bool in_the_dark;
  std::vector<std::string> ids = kIds;
};

std::ostream& operator<<(std::ostream& out, const Kill& kill) {
  return out << kill.point << " #" << kill.nth;
}

std::vector<Kill> kills() {
  std::vector<Kill> all;
  // Two steps of each, and two undos. Where a run costs more, a few of them are enough.
  const bool few = share_of_rounds() > 1 && soak_factor() == 1;
  for (int nth = 1; nth <= 8; ++nth) {
    if (few && nth != 1 && nth != 2 && nth != 7) continue;
    all.push_back({std::string(failpoint::kStepBefore), nth, true});
    all.push_back({std::string(failpoint::kStepAfter), nth, false});
  }
  for (const auto point :
       {failpoint::kClaimed, failpoint::kHandlerBefore, failpoint::kHandlerAfter}) {
    for (const int nth : {1, 2}) all.push_back({std::string(point), nth, false});
  }
  if (!has_steps()) return all;
  // A message that is given up ends twice: when that is recorded, and when all steps are undone.
  // Only one message, because others may share a finish with it.
  for (const auto point : {failpoint::kMarked, failpoint::kKept, failpoint::kRecorded}) {
    for (const int nth : {1, 2}) all.push_back({std::string(point), nth, false, {kIds.back()}});
  }
  return all;
}

void expect_only_the_dead(const TestBed& bed) {
  const auto store = bed.database().open();
  const auto left = store->facets().records->list(std::nullopt, std::nullopt, 10).value();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].key, "bad-c");
  EXPECT_EQ(left[0].state, RecordState::kDead);
  const StepJournal journal = store->facets().steps->read(left[0].id).value();
  EXPECT_FALSE(journal.giving_up);
  EXPECT_EQ(journal.entries.size(), 2U);
  for (const StepEntry& entry : journal.entries) {
    EXPECT_EQ(entry.state, StepEntry::State::kUndone) << entry.name;
  }
  if (!has_tables()) return;
  // The steps of a completed record are deleted immediately, or by the purge.
  EXPECT_EQ(bed.ask("SELECT count(*) FROM semel_step WHERE state = 'undone'"), "2");
}

class StepKills : public testing::TestWithParam<Kill> {};

TEST_P(StepKills, KilledThereAndStartedAgain) {
  const Kill& kill = GetParam();
  TestBed bed;
  bed.send(kill.ids);
  const std::vector<std::string> settings = {"strategy=state_machine", "handler=steps",
                                             "ledger=" + bed.ledger_path()};
  ASSERT_EQ(bed.run(settings, fmt::format("{}:kill:{}", kill.point, kill.nth)), -SIGKILL);
  if (!has_tables()) bed.database().notice_deaths();
  ASSERT_EQ(bed.run(settings), 0);

  const Ledger ledger(bed.ledger_path());
  const auto counts = ledger.counts();
  EXPECT_EQ(counts.size(), 2 * kill.ids.size() + 2) << "two steps of each, and two undos of one";
  std::size_t again = 0;
  for (const auto& [key, count] : counts) again += count - 1;
  EXPECT_EQ(again, kill.in_the_dark ? 1U : 0U);

  const auto entries = ledger.entries();
  const auto at = [&](const char* key) { return std::ranges::find(entries, key); };
  EXPECT_LT(at("bad-c/charge"), at("bad-c/charge/undo"));
  EXPECT_LT(at("bad-c/charge/undo"), at("bad-c/lock/undo")) << "in reverse";
  const auto first_undo = at("bad-c/charge/undo");
  EXPECT_EQ(std::find(first_undo, entries.end(), "bad-c/charge"), entries.end())
      << "what is being undone is not done again";
  EXPECT_EQ(bed.dead(), (std::map<std::string, std::string>{{"bad-c", "handler.native"}}));
  EXPECT_EQ(bed.held(), 0U);
  expect_only_the_dead(bed);
}

INSTANTIATE_TEST_SUITE_P(Points, StepKills, testing::ValuesIn(kills()),
                         [](const testing::TestParamInfo<Kill>& info) {
                           std::string name =
                               info.param.point + "_" + std::to_string(info.param.nth);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace semel::test
