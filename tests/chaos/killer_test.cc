// A message that kills its process: it alone is given up, on every store.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"

namespace semel::test {
namespace {

class Killer : public testing::TestWithParam<const char*> {};

TEST_P(Killer, OnlyTheMessageThatKillsItsProcessIsDead) {
  const std::string strategy = GetParam();
  // It calls the service for one message at a time, and never twice for the same.
  const bool parks = strategy == "at_most_once";
  const bool plain = strategy == "state_machine" || strategy == "fence" || parks;
  const bool recorded = strategy != "natural";  // else its neighbours run again
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.push_back("m" + std::to_string(i));
  for (const char* source : {"queue", "file"}) {
    SCOPED_TRACE(source);
    TestBed bed;
    std::vector<std::string> settings{"strategy=" + strategy,
                                      plain ? "handler=plain" : "handler=native",
                                      "ledger=" + bed.ledger_path(),
                                      std::string("source=") + source,
                                      "file=" + bed.file("messages"),
                                      "segfault=m37",
                                      "crashes=2"};
    if (std::string(source) == "queue") {
      bed.send(ids);
    } else {
      bed.write_lines(bed.file("messages"), ids);
    }
    int died = 0;
    int ended = 0;
    while (died < 20) {
      ended = bed.run(settings);
      if (ended != -SIGSEGV && ended != -SIGABRT && ended != 1) break;
      ++died;
      // A message that arrives before the store knows of the death is not a suspect.
      bed.database().notice_deaths();
    }
    EXPECT_EQ(ended, 0);
    EXPECT_GE(died, parks ? 1 : 2) << "the fault did not fire";
    // Once before it was suspected, twice in groups, and alone up to its limit.
    EXPECT_LE(died, parks ? 1 : 5) << "it was tried more often than its limit";
    std::map<std::string, std::string> dead;
    if (!parks) dead.emplace("m37", "crash");
    EXPECT_EQ(bed.dead(), dead);
    EXPECT_EQ(bed.held(), parks ? 1U : 0U) << "it waits for a person";
    const auto effects = plain ? Ledger(bed.ledger_path()).counts() : bed.effects();
    EXPECT_EQ(effects.size(), 99u);
    EXPECT_FALSE(effects.contains("m37"));
    if (parks || (!plain && recorded)) {
      for (const auto& [key, count] : effects) EXPECT_EQ(count, 1u) << key;
    }
  }
}

std::vector<const char*> strategies() {
  if (!has_tables()) return {"state_machine", "fence", "at_most_once"};
  return {"dedup_table", "inbox", "state_machine", "natural", "fence", "at_most_once"};
}

INSTANTIATE_TEST_SUITE_P(Strategies, Killer, testing::ValuesIn(strategies()));

}  // namespace
}  // namespace semel::test
