// semel demo: the proof, and the villain that must be caught every time.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "system/descriptor.h"
#include "tests/cli/at_a_terminal.h"
#include "tests/cli/program.h"
#include "tests/support/http_get.h"
#include "tests/support/rounds.h"
#include "tests/support/server_address.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

class DemoTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DemoTest, LosesNothingAndDoublesNothing) {
  const Ran ran = run({"demo", "--strategy", GetParam(), "--messages", "900", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/schema"), "semel.v1.demo");
  EXPECT_EQ(json_at(ran.out, "/strategy"), GetParam());
  EXPECT_EQ(json_at(ran.out, "/sent"), "1200");
  EXPECT_EQ(json_at(ran.out, "/effects"), "900");
  EXPECT_EQ(json_at(ran.out, "/lost"), "0");
  EXPECT_EQ(json_at(ran.out, "/doubled"), "0");
  EXPECT_EQ(json_at(ran.out, "/kills"), "5");
  EXPECT_EQ(json_at(ran.out, "/balance"), json_at(ran.out, "/expected_balance"));
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, DemoTest,
                         ::testing::Values("natural", "pessimistic_lock", "optimistic_lock",
                                           "dedup_table", "inbox", "state_machine"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Demo, TheVillainIsCaughtEveryTime) {
  for (std::size_t round = 0; round < rounds(3); ++round) {
    const Ran ran = run({"demo", "--strategy", "query", "--messages", "300", "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_GT(std::stoll(json_at(ran.out, "/doubled")), 0) << ran.out;
    EXPECT_EQ(json_at(ran.out, "/lost"), "0") << ran.out;
    EXPECT_EQ(json_at(ran.out, "/guarantee"), "none");
  }
}

TEST(Demo, WhatIsMarkedBeforeTheWorkIsLostEveryTime) {
  // So many that at each kill some are left: a worker that waits for more loses none.
  for (std::size_t round = 0; round < rounds(3, 1); ++round) {
    const Ran ran = run({"demo", "--strategy", "set_nx", "--messages", "4000", "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_GT(std::stoll(json_at(ran.out, "/lost")), 0) << ran.out;
    EXPECT_EQ(json_at(ran.out, "/doubled"), "0") << ran.out;
    EXPECT_EQ(json_at(ran.out, "/guarantee"), "none");
  }
}

TEST(Demo, AGuardAroundTheSameWorkLosesNothing) {
  const Ran ran = run({"demo", "--strategy", "redis_guard", "--messages", "900", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/lost"), "0") << ran.out;
  EXPECT_LE(std::stoll(json_at(ran.out, "/doubled")), 5) << "one in hand at each kill";
  EXPECT_EQ(json_at(ran.out, "/guarantee"), "at_least_once");
}

// Each is killed between a call and its record, and between its claim and the call.
TEST(Demo, WhoCallsAServiceThatForgetsKeysDoublesAfterAKill) {
  const Ran ran = run({"demo", "--strategy", "plain_call", "--messages", "2000", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/lost"), "0") << ran.out;
  EXPECT_GT(std::stoll(json_at(ran.out, "/doubled")), 0) << ran.out;
  EXPECT_EQ(json_at(ran.out, "/guarantee"), "at_least_once");
}

TEST(Demo, AFenceCallsAgainUnderTheSameKeyAndNothingIsDoubled) {
  const Ran ran = run({"demo", "--strategy", "fence", "--messages", "2000", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(json_at(ran.out, "/lost"), "0") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/doubled"), "0") << ran.out;
  EXPECT_GT(std::stoll(json_at(ran.out, "/calls")), 2000) << "what a kill left was called again";
  EXPECT_EQ(json_at(ran.out, "/balance"), json_at(ran.out, "/expected_balance"));
}

TEST(Demo, AtMostOnceKnowsOfEachThatItDidNotFinish) {
  // A kill between two calls leaves nothing to park.
  long long parked = 0;
  for (int round = 0; round < 10 && parked == 0; ++round) {
    const Ran ran = run({"demo", "--strategy", "at_most_once", "--messages", "900", "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(json_at(ran.out, "/doubled"), "0") << ran.out;
    parked = std::stoll(json_at(ran.out, "/parked"));
    EXPECT_LE(std::stoll(json_at(ran.out, "/lost")), parked) << ran.out;
    EXPECT_EQ(json_at(ran.out, "/calls"), json_at(ran.out, "/effects"));
  }
  EXPECT_GT(parked, 0);
}

TEST(Demo, WithoutARedisServerItSaysWhatItDoesNotShow) {
  const TempDir nothing;
  const Words without = {"PATH=" + nothing.path().string()};
  const Ran one = run({"demo", "--strategy", "set_nx"}, {.environment = without});
  EXPECT_EQ(one.code, 69);
  EXPECT_NE(one.err.find("apt-get install redis-server"), std::string::npos) << one.err;
  const Ran all = run({"demo", "--compare", "--messages", "90", "--kills", "3", "-o", "json"},
                      {.environment = without});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(json_at(all.out, "/not_shown/0"), "set_nx") << all.out;
  EXPECT_EQ(json_at(all.out, "/not_shown/1"), "redis_guard");
}

TEST(Demo, ComparesAllStrategiesInOneTable) {
  // A villain is lucky in some storms, and the table says so with code 1; never in three.
  Ran ran;
  for (int storm = 0; storm == 0 || (ran.code == 1 && storm < 3); ++storm) {
    ran = run({"demo", "--compare", "--messages", "300", "--kills", "3"});
  }
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  for (const char* strategy :
       {"query", "set_nx", "natural", "pessimistic_lock", "optimistic_lock", "dedup_table", "inbox",
        "state_machine", "redis_guard", "plain_call", "fence", "at_most_once"}) {
    EXPECT_NE(ran.out.find(std::string("\n") + strategy + " "), std::string::npos) << ran.out;
  }
  EXPECT_NE(ran.out.find("DOUBLED"), std::string::npos);
}

TEST(Demo, LeavesNothingBehindUnlessAsked) {
  const TempDir folder;
  const Words place = {"TMPDIR=" + folder.path().string()};
  ASSERT_EQ(run({"demo", "--messages", "90", "-q"}, {.environment = place}).code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ASSERT_EQ(run({"demo", "--messages", "90", "--keep"}, {.environment = place}).code, 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
}

// The dashboard is that of a worker: it is killed meanwhile, and there again.
TEST(Demo, ItsDashboardStaysUntilItIsStopped) {
  const auto port = static_cast<std::uint16_t>(free_port());
  const std::string address = fmt::format("127.0.0.1:{}", port);
  Program demo({"demo", "--messages", "300", "--kills", "3", "-o", "json", "--ui=" + address});
  EXPECT_TRUE(tells(demo, "the dashboard stays at http://" + address)) << demo.err();
  // The worker may have begun just now.
  EXPECT_TRUE(comes_true([&] { return http_get(port, "/readyz").status == 200; }));
  EXPECT_TRUE(comes_true([&] {
    const std::string metrics = http_get(port, "/metrics").body;
    return metrics.find("semel_effects_total{consumer=\"payments\"} ") != std::string::npos;
  }));
  EXPECT_NE(http_get(port, "/").body.find("queue → dedup_table → sql"), std::string::npos);
  demo.signal(SIGINT);
  const Ran ran = demo.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(json_at(ran.out, "/kills"), "3");
  EXPECT_EQ(http_get(port, "/livez").status, 0) << "nothing listens after the demo";
  EXPECT_EQ(run({"demo", "--strategy", "fence", "--ui=" + address}).code, 2);
}

// The ports that a demo takes by itself: one test at a time has them, of all processes and builds.
class UsualPorts {
 public:
  UsualPorts() : lock_(::open("/tmp/semel-demo-test.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    EXPECT_EQ(::flock(lock_.get(), LOCK_EX), 0);
  }

 private:
  const system::Descriptor lock_;
};

// The port of the dashboard that it says it has.
std::uint16_t told_port(AtATerminal& demo) {
  EXPECT_TRUE(demo.says("while this runs;")) << demo.said_so_far();
  constexpr std::string_view kTold = "dashboard: http://127.0.0.1:";
  const std::string& so_far = demo.said_so_far();
  const auto at = so_far.find(kTold);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::atoi(so_far.c_str() + at + kTold.size()));
}

TEST(Demo, OnATerminalADashboardIsServedWhileItRuns) {
  const UsualPorts ports;
  AtATerminal demo({"demo", "--messages", "3000"});
  const std::uint16_t port = told_port(demo);
  ASSERT_GE(port, 8585);
  // It is killed like the others, and there again.
  EXPECT_TRUE(comes_true([&] { return http_get(port, "/livez").status == 200; }));
  const std::string all = demo.said();
  EXPECT_NE(all.find("lost 0"), std::string::npos) << all;
  EXPECT_EQ(all.find("Ctrl-C"), std::string::npos) << "it waits for nobody: " << all;
  EXPECT_EQ(demo.code(), 0);
  EXPECT_EQ(http_get(port, "/livez").status, 0) << "nothing listens after the demo";
}

// Its port is taken between the look and the worker that serves it: the race comes before that.
TEST(Demo, ADashboardThatNobodyAskedForDoesNotEndTheDemo) {
  const UsualPorts ports;
  AtATerminal demo({"demo", "--messages", "300", "--kills", "3"});
  const std::uint16_t port = told_port(demo);
  ASSERT_GE(port, 8585);
  const system::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  ASSERT_EQ(::setsockopt(other.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  const std::string all = demo.said();
  const std::string_view no_page = "no dashboard";
  const auto at = all.find(no_page);
  EXPECT_NE(at, std::string::npos) << all;
  EXPECT_EQ(all.rfind(no_page), at) << "it is said once";
  EXPECT_NE(all.find("lost 0"), std::string::npos) << all;
  EXPECT_EQ(demo.code(), 0);
}

TEST(Demo, NobodyIsServedWhoDoesNotWantIt) {
  AtATerminal demo({"demo", "--messages", "300", "--kills", "3", "--no-ui"});
  EXPECT_EQ(demo.said().find("dashboard"), std::string::npos) << demo.said();
  EXPECT_EQ(demo.code(), 0);
  EXPECT_EQ(run({"demo", "--no-ui", "--ui"}).code, 2);
  const Ran script = run({"demo", "--messages", "300", "--kills", "3"});
  EXPECT_EQ(script.code, 0);
  EXPECT_EQ((script.out + script.err).find("dashboard"), std::string::npos) << "no terminal";
}

TEST(Demo, SaysWhatIsInItsWay) {
  const Ran ran = run({"demo"}, {.environment = {"TMPDIR=/no/such/place"}});
  EXPECT_EQ(ran.code, 69);
  EXPECT_NE(ran.err.find("/no/such/place"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace semel::test
