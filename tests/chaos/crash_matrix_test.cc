// Every strategy at every failpoint: the process is killed there, started again, and its effects
// are counted. The fault table's row "consumer killed anywhere", both ways.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <ostream>
#include <set>

#include <semel/environment.h>

#include "core/failpoints.h"
#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"

namespace semel::test {
namespace {

constexpr std::size_t kMatrixKeys = 24;

struct Way {
  std::string name;
  std::vector<std::string> settings;
  bool effects_in_file = false;  // else in the store's database
  bool once = false;             // the table says 1; otherwise >=1
  bool holds_record = true;
  bool from_queue = true;
};

std::vector<Way> ways() {
  std::vector<Way> all = {
      {"dedup_table_sql", {"strategy=dedup_table", "handler=sql"}, false, true},
      {"dedup_table_native", {"strategy=dedup_table", "handler=native"}, false, true},
      {"pessimistic_lock_sql", {"strategy=pessimistic_lock", "handler=sql"}, false, true},
      {"pessimistic_lock_native", {"strategy=pessimistic_lock", "handler=native"}, false, true},
      {"optimistic_lock_sql", {"strategy=optimistic_lock", "handler=sql"}, false, true},
      {"optimistic_lock_native", {"strategy=optimistic_lock", "handler=native"}, false, true},
      {"inbox_sql", {"strategy=inbox", "handler=sql"}, false, true},
      {"inbox_native", {"strategy=inbox", "handler=native"}, false, true},
      {"inbox_ordered",
       {"strategy=inbox", "handler=native", "order=hold_key", "throws=3"},
       false,
       true},
      {"inbox_deferred",
       {"strategy=inbox", "handler=native", "order=hold_key", "defer=here", "throws=3"},
       false,
       true,
       true,
       false},
      {"state_machine_apply", {"strategy=state_machine", "handler=sql"}, false, true},
      {"state_machine_two_part", {"strategy=state_machine", "handler=two_part"}, true, false},
      {"state_machine_plain", {"strategy=state_machine", "handler=plain"}, true, false},
      {"state_machine_async", {"strategy=state_machine", "handler=async"}, true, false},
      {"state_machine_batch", {"strategy=state_machine", "handler=batch"}, true, false},
      {"fence_async", {"strategy=fence", "handler=async"}, true, false},
      {"at_most_once_plain", {"strategy=at_most_once", "handler=plain"}, true, false},
      {"at_most_once_async", {"strategy=at_most_once", "handler=async"}, true, false},
      {"guard_batch", {"handler=guard_batch"}, false, true, true, false},
      {"guard_plain", {"handler=guard_plain"}, true, false, true, false},
      {"guard_claim", {"handler=guard_claim"}, true, false, true, false},
      {"natural_sql", {"strategy=natural", "handler=sql"}, false, false, false},
      {"natural_plain", {"strategy=natural", "handler=plain"}, true, false, false},
  };
  if (has_tables()) return all;
  std::erase_if(all, [](const Way& way) {
    return !way.effects_in_file || way.name == "state_machine_two_part";
  });
  all.push_back({"state_machine_ordered",
                 {"strategy=state_machine", "handler=plain", "order=hold_key", "throws=3"},
                 true,
                 false});
  return all;
}

struct Cell {
  Way way;
  std::string point;
  std::string source;
  int nth;
};

std::ostream& operator<<(std::ostream& out, const Cell& cell) {
  return out << cell.way.name << " at " << cell.point << " from " << cell.source << " #"
             << cell.nth;
}

// A point between the steps of a finish whose parts are on several servers.
bool is_step(std::string_view point) { return point.starts_with("cluster."); }

// Points that are not on a way: there the kill must not fire, or the table below is wrong.
bool on_the_way(const Cell& cell);

std::vector<Cell> cells_of(const Way& way, std::string_view point) {
  std::vector<Cell> cells;
  for (const char* source : {"queue", "file"}) {
    if (!way.from_queue && source == std::string_view("queue")) continue;
    for (const int nth : {1, 2}) cells.push_back({way, std::string(point), source, nth});
  }
  return cells;
}

// Keeps the cells of a way at a point that ./test has time for; the soak runs all. At night, a
// process also crashes when it reaches a point for the second time. On expensive databases a way
// crashes at a point only once, with one of the two sources. `turn` increases with each pair.
std::vector<Cell> enough_of(std::vector<Cell> cells, std::size_t turn) {
  if (share_of_rounds() == 1) {
    std::erase_if(cells, [](const Cell& cell) {
      return cell.nth == 2 && (!is_night() || (cell.source == "file" && cell.way.from_queue));
    });
    return cells;
  }
  std::erase_if(cells, [](const Cell& cell) { return cell.nth != 1 || !on_the_way(cell); });
  if (cells.empty()) return cells;
  return {cells[turn % cells.size()]};
}

std::vector<Cell> cells() {
  std::vector<Cell> cells;
  std::size_t way_at = 0;
  std::size_t turn = 0;
  for (const Way& way : ways()) {
    // Like a chessboard: each way has every second point, and the next way has the others.
    // natural_sql has no similar way next to it.
    std::size_t at = way_at++;
    const bool halved = way.name != "natural_sql";
    for (const std::string_view point : failpoint::kAll) {
      if (is_step(point) && !has_steps()) continue;
      if (point.starts_with("step.")) continue;  // steps_test.cc has those
      auto some = cells_of(way, point);
      if (soak_factor() == 1) {
        const auto half = half_of_matrix();
        if (half && halved && at++ % 2 != *half) continue;
        some = enough_of(std::move(some), turn++);
      }
      cells.insert(cells.end(), some.begin(), some.end());
    }
  }
  return cells;
}

bool on_the_way(const Cell& cell) {
  const std::string& way = cell.way.name;
  if (way.starts_with("guard_")) {
    // A claim has no source of Semel's and no drain; only the points in between apply.
    if (cell.point == failpoint::kReceived || cell.point.starts_with("settle") ||
        cell.point == failpoint::kDrained || is_step(cell.point)) {
      return false;
    }
    if (cell.point.starts_with("handler")) return way != "guard_claim";
  }
  // Without a record and a transaction, the store is not involved.
  if (way == "natural_plain") {
    return cell.point == failpoint::kReceived || cell.point.starts_with("handler") ||
           cell.point.starts_with("settle") || cell.point == failpoint::kDrained;
  }
  if (cell.point == failpoint::kConfirmed) {
    return way == "state_machine_apply" || way == "state_machine_two_part" || way == "natural_sql";
  }
  // A record that is completed, and has nothing that waits, ends in one.
  if (is_step(cell.point)) {
    return cell.source == "queue" || way == "state_machine_ordered" || way == "fence_async";
  }
  if (cell.point == failpoint::kClaimed) return way != "natural_sql";
  if (cell.point == failpoint::kFlushed) {
    return !cell.way.effects_in_file || way == "state_machine_two_part";
  }
  // Without transactions a record ends in one step.
  if (cell.point == failpoint::kFinished && !has_tables()) return false;
  // A line of a file is settled by its source: its transaction has statements alone.
  if (cell.point == failpoint::kFinished && way == "natural_sql") return cell.source == "queue";
  return true;
}

// Each message has had its effect once, or waits for a person.
void expect_once_or_parked(const TestBed& bed, const Cell& cell, bool fired) {
  const auto effects = Ledger(bed.ledger_path()).counts();
  for (const auto& [key, count] : effects) EXPECT_EQ(count, 1U) << key;
  EXPECT_GE(effects.size() + bed.held(), kMatrixKeys) << "lost";
  if (!fired) {
    EXPECT_EQ(bed.held(), 0U);
  } else if (cell.point == failpoint::kHandlerAfter) {
    EXPECT_GE(bed.held(), 1U) << "it had begun when the process was killed";
  }
}

class CrashMatrix : public testing::TestWithParam<Cell> {};

TEST_P(CrashMatrix, KilledThereAndStartedAgain) {
  const Cell& cell = GetParam();
  TestBed bed;
  std::vector<std::string> settings = cell.way.settings;
  settings.push_back("ledger=" + bed.ledger_path());
  settings.push_back("source=" + cell.source);
  // A death is known there after some seconds: its leases end sooner.
  if (!has_tables()) settings.emplace_back("lease=2s");
  // Otherwise some have no point between their statements and the commit.
  if (cell.point == failpoint::kFlushed) settings.emplace_back("judged=1");
  const std::vector<std::string> ids = with_twins(kMatrixKeys);
  if (cell.source == "queue") {
    bed.send(ids);
  } else {
    settings.push_back("file=" + bed.file("messages"));
    bed.write_lines(bed.file("messages"), ids);
  }

  const int killed = bed.run(settings, cell.point + ":kill:" + std::to_string(cell.nth));
  const bool fired = killed == -SIGKILL;
  ASSERT_TRUE(fired || killed == 0) << "ended with " << killed;
  // A later coming may not be reached in so short a run; the first must be, exactly where declared.
  if (cell.nth == 1) {
    ASSERT_EQ(fired, on_the_way(cell)) << "the matrix and the code disagree";
  }
  if (fired) {
    // Without tables some workers continue when leases end, and some when the death is known.
    if (!has_tables() && (cell.source == "queue" || has_steps())) bed.database().notice_deaths();
    ASSERT_EQ(bed.run(settings), 0);
  }

  EXPECT_TRUE(bed.dead().empty());
  if (cell.way.name.starts_with("at_most_once")) {
    expect_once_or_parked(bed, cell, fired);
    return;
  }
  EXPECT_EQ(bed.held(), 0u);
  if (cell.way.name == "natural_sql") {
    EXPECT_EQ(bed.states().size(), kMatrixKeys);
    return;
  }
  if (cell.way.name == "state_machine_two_part") {
    // Its second part is in the record's own commit, whatever became of the first.
    const auto applied = bed.effects();
    EXPECT_EQ(applied.size(), kMatrixKeys);
    for (const auto& [key, count] : applied) EXPECT_EQ(count, 1U) << key;
    EXPECT_EQ(bed.total(), kMatrixKeys);
  }
  const auto effects =
      cell.way.effects_in_file ? Ledger(bed.ledger_path()).counts() : bed.effects();
  EXPECT_EQ(effects.size(), kMatrixKeys) << "lost";
  std::size_t doubled = 0;
  std::size_t all = 0;
  for (const auto& [key, count] : effects) {
    all += count;
    if (count > 1) ++doubled;
  }
  if (cell.way.once) {
    EXPECT_EQ(doubled, 0u);
    EXPECT_EQ(bed.total(), all) << "a part of a message's statements is missing";
  } else if (cell.point == failpoint::kHandlerAfter &&
             (cell.way.name.starts_with("state_machine_") || cell.way.name.starts_with("fence") ||
              cell.way.name == "guard_plain")) {
    // The table says >=1: here a double must occur, otherwise this test could not detect one.
    EXPECT_GE(doubled, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Points, CrashMatrix, testing::ValuesIn(cells()),
                         [](const testing::TestParamInfo<Cell>& info) {
                           std::string name = info.param.way.name + "_" + info.param.point + "_" +
                                              info.param.source + "_" +
                                              std::to_string(info.param.nth);
                           for (char& c : name) {
                             if (c == '.') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace semel::test
