// Commands as handlers, in the whole program.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

// `exec`: what stands in handler.exec beside the command, which runs the script handler.sh of the
// test bed's folder with that folder as its argument.
class ExecTest : public ::testing::Test {
 protected:
  static std::string consumer(std::string_view more, std::string_view exec) {
    return fmt::format(
        "    source: {{ queue: {{}} }}\n    key: json:/id\n{}"
        "    handler: {{ exec: {{ command: [./handler.sh]{} }} }}\n",
        more, exec);
  }
  static void write_script(const TestBed& bed, std::string_view text) {
    write_file(bed.file("handler.sh"), fmt::format("#!/bin/sh\ncd '{}'\n{}", bed.file(""), text));
    std::filesystem::permissions(bed.file("handler.sh"), std::filesystem::perms::owner_all);
  }
  static void send(const TestBed& bed, const std::string& lines) {
    const Ran sent = bed.semel({"send", "payments", "-", "-q"}, {.input = lines});
    ASSERT_EQ(sent.code, 0) << sent.err;
  }
  static std::string dead_with(const TestBed& bed, const std::string& reason) {
    return json_at(bed.semel({"dlq", "list", "--reason", reason, "-o", "json"}).out, "/count");
  }
  static std::string dead(const TestBed& bed) {
    return json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count");
  }
  static bool appears(const std::string& file) {
    return comes_true([&] { return ::access(file.c_str(), F_OK) == 0; });
  }
};

TEST_F(ExecTest, WhatIsHeldBehindAFailedOneIsTold) {
  const TestBed bed(
      "    source: { file: { path: messages.jsonl, from: start } }\n    key: json:/id\n"
      "    order: { key: json:/sku, on_failure: hold_key }\n"
      "    retry: { backoff: 100ms..100ms }\n"
      "    handler: { exec: [./handler.sh] }\n");
  write_script(bed,
               "cat > /dev/null\n"
               "[ \"$SEMEL_KEY\" != 1 ] || [ \"$SEMEL_ATTEMPT\" -gt 1 ] || exit 75\n");
  write_file(bed.file("messages.jsonl"),
             "{\"id\":1,\"sku\":\"A\"}\n{\"id\":2,\"sku\":\"A\"}\n{\"id\":3,\"sku\":\"B\"}\n");
  const Ran ran = bed.semel({"run", "--once", "-v"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("held       in the store, for later"), std::string::npos) << ran.out;
  EXPECT_NE((ran.out + ran.err).find("3 effects, 1 retry, 1 held"), std::string::npos)
      << ran.out << ran.err;
}

// The command is killed with its consumer between its answer and the record's commit or anywhere
// else: what apply does is there once for each key all the same.
TEST_F(ExecTest, WhatIsAppliedAfterACommandCommitsWithTheRecord) {
  const TestBed bed(
      "    source: { queue: {} }\n    key: json:/id\n    retry: { backoff: 1ms..5ms }\n"
      "    handler:\n"
      "      exec: [./handler.sh]\n"
      "      apply:\n"
      "        sql:\n"
      "          params: { account: json:/account, amount: answer:/amount }\n"
      "          statements:\n"
      "            - { sql: UPDATE account SET balance = balance + :amount WHERE id = :account,\n"
      "                expect_rows: 1, otherwise: dead }\n");
  // Each third call fails once before it answers twice the account's number.
  write_script(bed,
               "cat > /dev/null\n"
               "echo call >> calls.txt\n"
               "case $SEMEL_KEY in *3) [ \"$SEMEL_ATTEMPT\" -gt 1 ] || exit 75;; esac\n"
               "echo '{\"amount\": 2}'\n");
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += fmt::format("{{\"id\":\"p-{}\",\"account\":1}}\n", i);
  send(bed, lines + lines + "{\"id\":\"p-x\",\"account\":99999}\n");
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed.number("SELECT balance FROM account WHERE id = 1"), 80);
  EXPECT_EQ(dead(bed), "1") << "the account that is not there";
  const Ran shown = bed.semel({"records", "show", "p-1", "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "completed");
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(ExecTest, AMessageThatKillsItsConsumerIsTheOnlyOneDead) {
  constexpr int kMessages = 200;
  constexpr int kBad = 57;
  constexpr int kRunsAtMost = 30;
  const TestBed bed(consumer("", ""));
  write_script(bed, fmt::format("if [ \"$SEMEL_KEY\" = m-{} ]; then\n"
                                "  kill -9 $PPID\n  exec sleep 600\nfi\n"
                                "echo $SEMEL_KEY >> done.txt\n",
                                kBad));
  std::string lines;
  std::set<std::string> good;
  for (int i = 0; i < kMessages; ++i) {
    lines += fmt::format("{{\"id\":\"m-{}\"}}\n", i);
    if (i != kBad) good.insert(fmt::format("m-{}", i));
  }
  send(bed, lines);
  int killed = 0;
  Ran ran;
  for (int i = 0; i < kRunsAtMost && ran.code != 0; ++i) {
    ran = bed.semel({"run", "--once", "-q"});
    if (ran.signal == SIGKILL) ++killed;
  }
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_GE(killed, 1) << "it never killed its consumer";
  EXPECT_EQ(dead_with(bed, "crash"), "1");
  EXPECT_EQ(dead(bed), "1");
  EXPECT_NE(bed.semel({"dlq", "list", "-o", "json"}).out.find("it alone was in hand at"),
            std::string::npos)
      << "what is counted is no more than that";
  std::set<std::string> done;
  std::istringstream said(read_file(bed.file("done.txt")));
  for (std::string key; said >> key;) done.insert(key);
  EXPECT_EQ(done, good);
  for (const auto* key : {"m-0", "m-56", "m-58", "m-199"}) {
    EXPECT_EQ(json_at(bed.semel({"records", "show", key, "-o", "json"}).out, "/records/0/state"),
              "completed")
        << key;
  }
}

TEST_F(ExecTest, ExitCodesEndMessages) {
  const TestBed bed(consumer("    retry: { attempts: 3, backoff: 10ms..10ms }\n", ""));
  write_script(bed,
               "case $SEMEL_KEY in\n"
               "  poison) echo 'not a picture' >&2; exit 65 ;;\n"
               "  later) [ $SEMEL_ATTEMPT = 2 ] || exit 75 ;;\n"
               "  never) exit 3 ;;\n"
               "  nothing) exit 100 ;;\n"
               "esac\n"
               "echo $SEMEL_KEY $SEMEL_ATTEMPT >> done.txt\n");
  send(bed, "{\"id\":\"good\"}\n{\"id\":\"poison\"}\n{\"id\":\"good\"}\n{\"id\":\"never\"}\n");
  send(bed, "{\"id\":\"nothing\"}\n");
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  send(bed, "{\"id\":\"later\"}\n");
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(read_file(bed.file("done.txt")), "good 1\nlater 2\n");
  EXPECT_EQ(dead(bed), "2");
  EXPECT_EQ(dead_with(bed, "handler.exec.65"), "1");
  EXPECT_EQ(dead_with(bed, "attempts.exhausted"), "1");
  const Ran letters = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_NE(letters.out.find("not a picture"), std::string::npos) << letters.out;
}

TEST_F(ExecTest, WhatHangsIsCountedAndGivenUp) {
  // A busy machine may not come to the command's first line in time: then there is more of it.
  for (int timeout_ms = 500; timeout_ms < 60'000; timeout_ms *= 2) {
    const TestBed bed(consumer("    retry: { attempts: 2, backoff: 10ms..10ms }\n",
                               fmt::format(", timeout: {}ms, grace: 100ms", timeout_ms)));
    write_script(bed, "echo $SEMEL_ATTEMPT >> tries.txt\ntrap '' TERM\nsleep 600\n");
    send(bed, "{\"id\":\"stuck\"}\n");
    EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
    EXPECT_EQ(dead(bed), "1");
    if (read_file(bed.file("tries.txt")) == "1\n2\n") return;
  }
  FAIL() << "it is not tried twice";
}

TEST_F(ExecTest, AStopInAHurryIsNotTheMessagesFault) {
  const TestBed bed(consumer("    retry: { attempts: 1 }\n", ""));
  write_script(bed,
               "[ -e first ] || { : > first; exec sleep 600; }\necho $SEMEL_KEY >> done.txt\n");
  Program runner({"run", bed.config(), "-q"});
  send(bed, "{\"id\":\"long\"}\n");
  ASSERT_TRUE(appears(bed.file("first"))) << runner.err();
  runner.signal(SIGSTOP);
  runner.signal(SIGTERM);
  runner.signal(SIGINT);
  runner.signal(SIGCONT);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(read_file(bed.file("done.txt")), "long\n");
  EXPECT_EQ(dead(bed), "0");
}

TEST_F(ExecTest, AProgramThatIsNotThereIsSaidAtTheStart) {
  const TestBed bed(consumer("", ""));
  send(bed, "{\"id\":\"m-1\"}\n");
  const Ran ran = bed.semel({"run", "--once"});
  EXPECT_EQ(ran.code, 78) << ran.err;
  EXPECT_NE(ran.err.find("error[R280]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("handler.sh\" is not there"), std::string::npos) << ran.err;
  write_script(bed, "echo $SEMEL_ATTEMPT >> done.txt\n");
  EXPECT_EQ(bed.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(read_file(bed.file("done.txt")), "1\n");
}

TEST_F(ExecTest, CheckNamesTheCommand) {
  // Not one in the test's folder: a path may be longer than what is shown of a command.
  const TestBed bed(
      "    source: { queue: {} }\n    key: json:/id\n"
      "    handler: { exec: { command: [/bin/true] } }\n");
  const Ran ran = bed.semel({"check", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\"handler\":\"exec /bin/true\""), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\"strategy\":\"state_machine\""), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace semel::test
