// Pausing: by a person, seen by every process, over restarts.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

class ConsumersTest : public ::testing::Test {
 protected:
  ConsumersTest() : scene_(payments(kQueue)) {}
  std::string gate() {
    return json_at(scene_.semel({"consumers", "list", "-o", "json"}).out, "/consumers/0/gate");
  }
  Scene scene_;
};

TEST_F(ConsumersTest, APausedConsumerBeginsNothingAndItsRunsSaySo) {
  ASSERT_EQ(scene_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const Ran paused =
      scene_.semel({"consumers", "pause", "payments", "--reason", "bank holiday", "-o", "json"});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_EQ(json_at(paused.out, "/changed"), "true");
  EXPECT_EQ(json_at(scene_.semel({"consumers", "pause", "payments", "-o", "json"}).out, "/changed"),
            "false");
  EXPECT_EQ(gate(), "paused");
  const Ran status = scene_.semel({"status"});
  EXPECT_NE(status.out.find("bank holiday"), std::string::npos) << status.out;

  const Ran once = scene_.semel({"run", "--once"});
  EXPECT_EQ(once.code, 1);
  EXPECT_NE(once.err.find("semel consumers resume payments"), std::string::npos) << once.err;
  EXPECT_EQ(scene_.number("SELECT sum(balance) FROM account"), 0);

  EXPECT_EQ(scene_.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_EQ(gate(), "open");
  EXPECT_EQ(scene_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(scene_.number("SELECT sum(balance) FROM account"), 5);
}

TEST_F(ConsumersTest, ARunningProcessStopsAndGoesOn) {
  Program runner({"run", scene_.config()});
  ASSERT_EQ(scene_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_TRUE(runner.says("p-1  done"));
  ASSERT_EQ(scene_.semel({"consumers", "pause", "payments"}).code, 0);
  ASSERT_TRUE(tells(runner, "paused"));
  ASSERT_EQ(scene_.semel({"send", "payments", payment("p-2", 1, 7)}).code, 0);
  ASSERT_EQ(scene_.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_TRUE(runner.says("p-2  done"));
  EXPECT_TRUE(tells(runner, "resumed"));
}

TEST_F(ConsumersTest, AnUnknownNameIsAnswered) {
  const Ran ran = scene_.semel({"consumers", "pause", "paymnts"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("payments"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
