// Pausing: by a person, seen by every process, over restarts.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

class ConsumersTest : public ::testing::Test {
 protected:
  ConsumersTest() : bed_(payments(kQueue)) {}
  std::string gate() {
    return json_at(bed_.semel({"consumers", "list", "-o", "json"}).out, "/consumers/0/gate");
  }
  TestBed bed_;
};

TEST_F(ConsumersTest, APausedConsumerBeginsNothingAndItsRunsSaySo) {
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran paused =
      bed_.semel({"consumers", "pause", "payments", "--reason", "bank holiday", "-o", "json"});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_EQ(json_at(paused.out, "/changed"), "true");
  EXPECT_EQ(json_at(bed_.semel({"consumers", "pause", "payments", "-o", "json"}).out, "/changed"),
            "false");
  EXPECT_EQ(gate(), "paused");
  const Ran status = bed_.semel({"status"});
  EXPECT_NE(status.out.find("bank holiday"), std::string::npos) << status.out;

  const Ran once = bed_.semel({"run", "--once"});
  EXPECT_EQ(once.code, 1);
  EXPECT_NE(once.err.find("semel consumers resume payments"), std::string::npos) << once.err;
  EXPECT_EQ(bed_.number("SELECT sum(balance) FROM account"), 0);

  EXPECT_EQ(bed_.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_EQ(gate(), "open");
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(bed_.number("SELECT sum(balance) FROM account"), 5);
}

TEST_F(ConsumersTest, ARunningProcessStopsAndGoesOn) {
  Program runner({"run", bed_.config(), "-v"});
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_TRUE(runner.says("p-1  done"));
  ASSERT_EQ(bed_.semel({"consumers", "pause", "payments"}).code, 0);
  ASSERT_TRUE(tells(runner, "paused"));
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-2", 1, 7)}).code, 0);
  ASSERT_EQ(bed_.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_TRUE(runner.says("p-2  done"));
  EXPECT_TRUE(tells(runner, "resumed"));
}

TEST_F(ConsumersTest, WhatIsSaidIsTrue) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  const Ran open = bed_.semel({"consumers", "resume", "payments"});
  EXPECT_EQ(open.code, 4) << open.out << "nothing was paused";
  EXPECT_NE(open.out.find("was not paused"), std::string::npos) << open.out;
  EXPECT_EQ(open.out.find("running"), std::string::npos) << "nobody runs it: " << open.out;
  const Words pause = {"consumers", "pause", "payments"};
  const Words why = {"consumers", "pause", "payments", "--reason", "bank holiday"};
  EXPECT_NE(bed_.semel(why).out.find("payments is paused\n"), std::string::npos);
  const Ran again = bed_.semel(pause);
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.out.find("was paused already\n"), std::string::npos) << again.out;
  EXPECT_NE(bed_.semel({"status"}).out.find("bank holiday"), std::string::npos)
      << "the reason that was given stays";
  const Ran other = bed_.semel({"consumers", "pause", "payments", "--reason", "audit"});
  EXPECT_NE(other.out.find("keeps its first reason: bank holiday"), std::string::npos) << other.out;
  EXPECT_EQ(bed_.semel({"status"}).out.find("audit"), std::string::npos);
  const Ran resumed = bed_.semel({"consumers", "resume", "payments"});
  EXPECT_EQ(resumed.code, 0);
  EXPECT_NE(resumed.out.find("payments is resumed\n"), std::string::npos) << resumed.out;
}

TEST_F(ConsumersTest, AnUnknownNameIsAnswered) {
  const Ran ran = bed_.semel({"consumers", "pause", "paymnts"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("payments"), std::string::npos);
}

TEST(Consumers, TheUrlThatIsMissingIsThatOfTheConfig) {
  const TempDir folder;
  write_file(folder.file("semel.yaml"),
             "version: 1\nstore: { sqlite: semel.db }\nadmin: { listen: \"127.0.0.1:9191\" }\n"
             "consumers:\n  - name: payments\n" +
                 payments(kQueue));
  for (const Words& words : {Words{"consumers", "drain", "payments"}, {"reload"}}) {
    const Ran ran = run(words, {.folder = folder.path().string()});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("--url http://127.0.0.1:9191, or SEMEL_URL"), std::string::npos)
        << ran.err;
  }
  const TempDir empty;
  EXPECT_NE(
      run({"reload"}, {.folder = empty.path().string()}).err.find("--url http://127.0.0.1:8585"),
      std::string::npos);
}

// check, run and doctor say it.
TEST(Consumers, ASecretInAFileIsNotTheConcernOfEachCommand) {
  const TestBed bed(
      payments("{ http: { listen: \"127.0.0.1:8081\", signature: { github: hunter2 } } }"));
  const Ran checked = bed.semel({"check"});
  ASSERT_NE(checked.out.find("W031"), std::string::npos) << checked.out << checked.err;
  ASSERT_EQ(bed.semel({"store", "init"}).err.find("W031"), std::string::npos);
  for (const Words& words : {Words{"status"}, Words{"dlq", "list"}, Words{"consumers", "list"}}) {
    EXPECT_EQ(bed.semel(words).err.find("W031"), std::string::npos) << words.front();
  }
  EXPECT_NE(bed.semel({"doctor"}).err.find("W031"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
