// semel run: what it says, what it leaves, how it stops.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

TEST(Run, TheSameMessageThreeTimesIsOneEffect) {
  const TestBed bed(payments("{ stdin: {} }"));
  const std::string line = payment("p-1", 1, 5);
  const Ran ran = bed.semel({"run", "--once", "-v"}, {.input = line + line + line});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.number("SELECT balance FROM account WHERE id = 1"), 5);
  EXPECT_NE(ran.out.find("payments  p-1  done       "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("payments  p-1  duplicate  of 20"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("3 deliveries, 1 effect, 2 duplicates\n"), std::string::npos) << ran.out;
}

// As the times of log lines are read by those who collect them.
bool begins_with_iso_time(const std::string& line) {
  const std::string form = "dddd-dd-ddTdd:dd:dd.dddZ  ";
  if (line.size() < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    if (form[i] == 'd' ? !digit : line[i] != form[i]) return false;
  }
  return true;
}

TEST(Run, WithoutAWishItSaysTroublesAndTheSummary) {
  const TestBed bed(payments("{ stdin: {} }"));
  const std::string good = payment("p-1", 1, 5);
  const Ran ran = bed.semel({"run", "--once"}, {.input = good + good + "{\"id\":\"p-2\"}\n"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out.find("p-1"), std::string::npos) << "it went well: " << ran.out;
  EXPECT_NE(ran.out.find("payments  p-2  dead"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("3 deliveries, 1 effect, 1 duplicate, 1 dead\n"), std::string::npos)
      << ran.out;
}

TEST(Run, WhatItSaysWhileItRunsHasItsTime) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments"}).code, 0);
  const Ran paused = bed.semel({"run", "--once"});
  EXPECT_NE(paused.err.find("paused"), std::string::npos) << paused.err;
  EXPECT_TRUE(begins_with_iso_time(paused.err)) << paused.err;
  const Ran raw = bed.semel({"run", "--once", "--time", "raw"});
  EXPECT_NE(raw.err.find("paused"), std::string::npos) << raw.err;
  EXPECT_EQ(raw.err.find_first_not_of("0123456789"), 13U) << raw.err;
  const Ran relative = bed.semel({"run", "--once", "--time", "relative"});
  EXPECT_TRUE(relative.err.starts_with("+")) << relative.err;
  ASSERT_EQ(bed.semel({"consumers", "resume", "payments"}).code, 0);
  const Ran ran = bed.semel({"run", "--once", "-v"});
  EXPECT_TRUE(begins_with_iso_time(ran.out)) << ran.out;
  EXPECT_NE(ran.out.find("  payments  p-1  done"), std::string::npos) << ran.out;
}

TEST(Run, QuietSaysNothing) {
  const TestBed bed(payments("{ stdin: {} }"));
  const Ran ran = bed.semel({"run", "--once", "-q"}, {.input = payment("p-1", 1, 5)});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "");
}

TEST(Run, JsonIsOneSummaryAndJsonlALineForEachDelivery) {
  const TestBed bed(payments("{ stdin: {} }"));
  const std::string line = payment("p-1", 1, 5);
  const Ran json = bed.semel({"run", "--once", "-o", "json"}, {.input = line + line});
  EXPECT_EQ(json_at(json.out, "/schema"), "semel.v1.run");
  EXPECT_EQ(json_at(json.out, "/deliveries"), "2");
  EXPECT_EQ(json_at(json.out, "/effects"), "1");
  EXPECT_EQ(json_at(json.out, "/outcomes/duplicate"), "1");
  const Ran lines = bed.semel({"run", "--once", "-o", "jsonl"}, {.input = line});
  EXPECT_EQ(json_at(lines.out, "/schema"), "semel.v1.delivery");
  EXPECT_EQ(json_at(lines.out, "/key"), "p-1");
  EXPECT_EQ(json_at(lines.out, "/outcome"), "duplicate");
}

TEST(Run, DryRunLooksAndLeavesAll) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran ran = bed.semel({"run", "--once", "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("p-1  would be done"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 delivery looked at, nothing done"), std::string::npos) << ran.out;
  EXPECT_EQ(bed.number("SELECT sum(balance) FROM account"), 0);
  EXPECT_EQ(bed.semel({"run", "--once"}).code, 0);
  EXPECT_EQ(bed.number("SELECT sum(balance) FROM account"), 5);
}

TEST(Run, BadMessagesAreDeadLettersAndTheGoodOnesAroundThemAreDone) {
  const TestBed bed(payments("{ stdin: {} }"));
  const std::string input = payment("p-1", 1, 5) + "not json\n" + "{\"account\":1,\"amount\":1}\n" +
                            "{\"id\":null,\"account\":1,\"amount\":1}\n" +
                            "{\"id\":\"p-2\",\"amount\":1}\n" + payment("p-3", 1, 7);
  const Ran ran = bed.semel({"run", "--once", "-o", "json"}, {.input = input});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "2") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/deliveries"), "6") << ran.out;
  EXPECT_EQ(bed.number("SELECT balance FROM account WHERE id = 1"), 12);
  const Ran dead = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(dead.out, "/count"), "4") << dead.out;
}

TEST(Run, AStopDrainsAndLeavesNothingBehind) {
  const TestBed bed(payments(kQueue));
  Program runner({"run", bed.config(), "-v"});
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_TRUE(runner.says("p-1  done")) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("1 delivery, 1 effect\n"), std::string::npos) << ran.out;
}

TEST(Run, TwoInterruptsHurry) {
  const TestBed bed(payments(kQueue));
  Program runner({"run", bed.config(), "-v"});
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_TRUE(runner.says("p-1  done")) << runner.err();
  // Stopped while both arrive, so that the second one cannot come after the end.
  runner.signal(SIGSTOP);
  runner.signal(SIGTERM);
  runner.signal(SIGINT);
  runner.signal(SIGCONT);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.signal, 0);
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Run, WhereTheStoreCannotBeMadeItIsSaid) {
  const TestBed bed(payments(kQueue));
  const Ran ran =
      bed.semel({"run", "--once", "--set", "store.sqlite.path=" + bed.file("no/such/folder/x.db")});
  EXPECT_EQ(ran.code, 69) << ran.err;
  EXPECT_NE(ran.err.find("error[R2"), std::string::npos) << ran.err;
}

TEST(Run, ADurationThatIsNoneIsWrongUse) {
  const TestBed bed(payments(kQueue));
  EXPECT_EQ(bed.semel({"run", "--once", "--drain-timeout", "soon"}).code, 2);
  EXPECT_EQ(bed.semel({"run", "--once", "--drain-timeout", "2s"}).code, 0);
}

TEST(Run, AReaderThatLeavesStopsTheLinesNotTheWork) {
  const TestBed bed(payments("{ stdin: {} }"));
  std::string input;
  for (int i = 0; i < 3'000; ++i) input += payment("p-" + std::to_string(i), 1, 1);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Ran ran = bed.semel({"run", "--once", "-v"}, {.input = input, .out = ends[1]});
  ::close(ends[1]);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.number("SELECT balance FROM account WHERE id = 1"), 3'000);
}

}  // namespace
}  // namespace semel::test
