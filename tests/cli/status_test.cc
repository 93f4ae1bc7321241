// semel status: how old, how long ago, and who really works.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/cli/at_a_terminal.h"
#include "tests/cli/program.h"
#include "tests/cli/write_lock.h"

namespace semel::test {
namespace {

std::string first(const Ran& status, const std::string& member) {
  return json_at(status.out, "/consumers/0/" + member);
}

TEST(Status, SaysHowLongTheOldestWaitsAndWhenSomethingLastHappened) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const Ran before = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(first(before, "last_change"), "(absent)") << "nothing ever";
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  // As if it waited since three hours.
  bed.sql("UPDATE semel_held SET enqueued_at = enqueued_at - 3 * 3600 * 1000");
  const Ran waits = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(waits.code, 1);
  const std::string age = first(waits, "oldest_waiting_ms");
  ASSERT_NE(age, "(absent)") << waits.out;
  EXPECT_GE(std::stoll(age), 3 * 3'600'000) << waits.out;
  EXPECT_LT(std::stoll(age), 4 * 3'600'000) << waits.out;
  const Ran screen = bed.semel({"status"});
  EXPECT_NE(screen.out.find("  OLDEST\n"), std::string::npos) << screen.out;
  EXPECT_NE(screen.out.find(" 3 h\n"), std::string::npos) << screen.out;
  EXPECT_NE(screen.out.find("payments: queue, "), std::string::npos) << screen.out;
  constexpr std::size_t kTerminal = 80;
  std::istringstream lines(screen.out.substr(screen.out.find("CONSUMER")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kTerminal) << line;
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  const Ran done = bed.semel({"status", "-o", "json", "--time", "raw"});
  EXPECT_EQ(first(done, "oldest_waiting"), "(absent)") << done.out;
  EXPECT_EQ(first(done, "last_change"),
            std::to_string(bed.number("SELECT max(completed_at) FROM semel_completed_1")))
      << done.out;
}

TEST(Status, AProcessThatRunsAnotherConsumerRunsNotThisOne) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  write_file(bed.file("other.yaml"),
             "version: 1\nstore: { sqlite: { path: semel.db } }\n"
             "consumers:\n  - name: refunds\n" +
                 payments(kQueue));
  Program other({"run", bed.file("other.yaml"), "-q"});
  ASSERT_TRUE(comes_true([&] {
    return json_at(bed.semel({"status", "-o", "json"}).out, "/running_pids/0") ==
           std::to_string(other.pid());
  })) << other.err();
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran status = bed.semel({"status", "-o", "json"});
  EXPECT_EQ(status.code, 1) << "a message waits and nobody runs its consumer";
  EXPECT_EQ(first(status, "state"), "down") << status.out;
  EXPECT_EQ(first(status, "running_pids/0"), "(absent)") << status.out;
  const Ran theirs = run({"status", "-c", bed.file("other.yaml"), "-o", "json"});
  EXPECT_EQ(first(theirs, "state"), "running") << theirs.out;
}

TEST(Status, InAPipeEveryTextIsWhole) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const std::string why(300, 'w');
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments", "--reason", why}).code, 0);
  const Ran status = bed.semel({"status"});
  EXPECT_NE(status.out.find(": " + why + "\n"), std::string::npos) << status.out;
}

// The characters of UTF-8, without the bytes that continue one.
std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Tables of long texts, on a narrow terminal.
TEST(Status, NoLineIsWiderThanTheTerminal) {
  constexpr std::size_t kColumns = 60;
  const std::string name = "payments-of-the-north";
  const TestBed bed(payments(kQueue) + "  - name: " + name + "\n" + payments(kQueue));
  ASSERT_EQ(bed.semel({"send", name, R"({"id":"a-payment-without-an-amount-1"})"}).code, 0);
  ASSERT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  ASSERT_EQ(bed.semel({"consumers", "pause", name, "--reason",
                       "the bank asks us to wait for the end of its work"})
                .code,
            0);
  for (const Words& words :
       {Words{"check"}, Words{"status"}, Words{"consumers", "list"}, Words{"dlq", "list"},
        Words{"dlq", "groups"}, Words{"records", "list"}}) {
    Words all = words;
    all.insert(all.end(), {"-c", bed.config()});
    AtATerminal terminal(all, kColumns);
    std::istringstream lines(terminal.said());
    std::size_t shown = 0;
    for (std::string line; std::getline(lines, line); ++shown) {
      if (line.ends_with('\r')) line.pop_back();
      // An excerpt of the config stays whole, and so does its path.
      if (words.front() == "check" && line.find(" | ") != std::string::npos) continue;
      if (line.find(bed.config()) != std::string::npos) continue;
      EXPECT_LE(columns_of(line), kColumns) << words.back() << ": " << line;
    }
    EXPECT_GE(shown, 2U) << terminal.said();
  }
  AtATerminal check({"check", "-c", bed.config()}, kColumns);
  EXPECT_NE(check.said().find("no room for STRATEGY"), std::string::npos) << check.said();
}

// A killed run leaves the record of what it handled, and the message in the queue.
TEST(Status, AMessageOfAKilledRunWaitsOnce) {
  const TestBed bed(
      "    source: { queue: {} }\n"
      "    key: json:/id\n"
      "    strategy: state_machine\n"
      "    handler: { exec: { command: [sleep, \"60\"], timeout: 90s } }\n");
  ASSERT_EQ(bed.semel({"send", "payments", R"({"id":"m1"})"}).code, 0);
  const auto status = [&] { return bed.semel({"status", "-o", "json"}); };
  {
    Program runner({"run", bed.config(), "-q"});
    ASSERT_TRUE(comes_true([&] { return first(status(), "consuming") == "1"; })) << runner.err();
    runner.signal(SIGKILL);
    ASSERT_EQ(runner.wait().signal, SIGKILL);
  }
  const Ran killed = status();
  EXPECT_EQ(first(killed, "held"), "1") << killed.out;
  EXPECT_EQ(first(killed, "consuming"), "1");
  EXPECT_NE(killed.err.find("payments is down: 1 message waits for it"), std::string::npos)
      << killed.err;
}

TEST(Status, EachConsumerThatIsDownIsNamed) {
  const TestBed bed(payments(kQueue) + "  - name: refunds\n" + payments(kQueue));
  for (const char* name : {"payments", "refunds"}) {
    ASSERT_EQ(bed.semel({"send", name, payment("p-1", 1, 5)}).code, 0);
  }
  const Ran status = bed.semel({"status"});
  EXPECT_EQ(status.code, 1);
  for (const char* name : {"payments", "refunds"}) {
    EXPECT_EQ(count_of(status.err, std::string(name) + " is down: 1 message waits"), 1U)
        << status.err;
  }
}

TEST(Status, ARunThatCannotWriteIsNotCalledRunning) {
  const TestBed bed(payments("{ stdin: {} }"));
  Program runner({"run", bed.config(), "-v"}, {.held_input = true});
  runner.say(payment("p-1", 1, 5));
  ASSERT_TRUE(runner.says("p-1  done")) << runner.err();
  const auto status = [&] { return bed.semel({"status", "-o", "json"}); };
  EXPECT_EQ(first(status(), "state"), "running");
  auto lock = std::make_unique<WriteLock>(bed.database());
  runner.say(payment("p-2", 1, 7));
  ASSERT_TRUE(comes_true([&] { return first(status(), "state") == "failing"; }))
      << status().out << runner.err();
  const Ran failing = status();
  EXPECT_EQ(failing.code, 1) << failing.err;
  EXPECT_NE(failing.err.find("payments is failing"), std::string::npos) << failing.err;
  EXPECT_EQ(first(failing, "troubles/0/pid"), std::to_string(runner.pid()));
  EXPECT_EQ(first(failing, "troubles/0/where"), "store");
  EXPECT_NE(bed.semel({"status"}).out.find("has trouble with the store since 20"),
            std::string::npos);
  lock.reset();
  EXPECT_TRUE(runner.says("p-2  done")) << runner.err();
  EXPECT_TRUE(comes_true([&] { return first(status(), "state") == "running"; }));
}

}  // namespace
}  // namespace semel::test
