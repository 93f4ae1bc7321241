// semel run that takes up another config while it works, and drains one of its consumers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "tests/cli/reload_test_bed.h"
#include "tests/cli/write_lock.h"

namespace semel::test {
namespace {

class ReloadTest : public ReloadTestBed {};

TEST_F(ReloadTest, ConsumersThatDidNotChangeGoOnWhileAnotherBeginsAnew) {
  AdminRun run(bed_, kReloadable);
  hold(run);
  rewrite("timeout: 50s", "timeout: 55s");
  run.program().signal(SIGHUP);
  ASSERT_TRUE(comes_to_state(run, "slow", "draining"));
  EXPECT_EQ(get(run, "/readyz").status, 200) << "the run works";
  send("slow", "{\"id\":\"second\"}\n");
  send("payments", payments_of(0, 300));
  ASSERT_TRUE(comes_to(300));
  EXPECT_EQ(state(run, "payments"), "running");
  EXPECT_EQ(state(run, "slow"), "draining") << "the effects happened meanwhile";
  EXPECT_EQ(contents_of(bed_.file("done")), "");
  write_file(bed_.file("go"), "");
  ASSERT_TRUE(in_effect(run, 1));
  EXPECT_TRUE(comes_true([&] { return contents_of(bed_.file("done")) == "first\nsecond\n"; }));
  EXPECT_TRUE(tells(run.program(), "reload: the config is taken up: slow changed"));
  EXPECT_TRUE(tells(run.program(), "reload: the config is in effect"));
  EXPECT_EQ(metric(run, "semel_config_reloads_total{result=\"taken\"}"), "1");
  EXPECT_TRUE(comes_true([&] {
    return metric(run, "semel_effects_total{consumer=\"slow\"}") == "2";
  })) << "it counts on";
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0);
  EXPECT_EQ(balance(), 300);
}

TEST_F(ReloadTest, AWrongConfigIsRefusedWholeAndEachErrorIsNamed) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  const std::string good = contents_of(bed_.config());
  rewrite("timeout: 20s", "timeouts: 20s");
  rewrite("timeout: 50s", "timeout: 51s");
  run.program().signal(SIGHUP);
  ASSERT_TRUE(tells(run.program(), "error[R355]")) << run.program().err();
  EXPECT_TRUE(tells(run.program(), "error[E012] unknown field \"timeouts\""));
  EXPECT_TRUE(tells(run.program(), "semel.yaml:"));
  EXPECT_EQ(metric(run, "semel_config_reloads_total{result=\"refused\"}"), "1");
  EXPECT_EQ(metric(run, "semel_config_last_reload_successful"), "0");
  const auto refused = run.post("/api/v1/reload", "{\"reason\":\"ticket 7\"}", kChiefToken);
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_EQ(json_at(refused.body, "/code"), "R355");
  EXPECT_EQ(json_at(refused.body, "/errors/0/code"), "E012") << refused.body;
  EXPECT_NE(json_at(refused.body, "/errors/0/line"), "(absent)") << refused.body;
  EXPECT_EQ(json_at(get(run, "/api/v1/consumers/slow").body, "/consumer/state"), "running");
  write_file(bed_.config(), good);
  send("payments", payments_of(0, 10));
  EXPECT_TRUE(comes_to(10)) << "the run goes on with the config it has";
  rewrite("timeout: 50s", "timeout: 51s");
  EXPECT_EQ(run.post("/api/v1/reload", "{}", kChiefToken).status, 202);
  ASSERT_TRUE(in_effect(run, 1));
  EXPECT_EQ(metric(run, "semel_config_last_reload_successful"), "1");
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE action = 'reload' AND who = "
                        "'chief' AND outcome LIKE 'refused: R355%' AND reason = 'ticket 7'"),
            1);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE outcome = 'taken up: slow "
                        "changed'"),
            1);
}

TEST_F(ReloadTest, ADryRunSaysWhatWouldChangeAndChangesNothing) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  rewrite("timeout: 20s", "timeout: 30s");
  const auto said = run.post("/api/v1/reload", "{\"dry_run\":true}", kChiefToken);
  EXPECT_EQ(said.status, 200) << said.body;
  EXPECT_EQ(json_at(said.body, "/consumers/0/name"), "payments");
  EXPECT_EQ(json_at(said.body, "/consumers/0/values/0/path"), "timeout");
  EXPECT_EQ(json_at(said.body, "/consumers/0/values/0/to"), "30s");
  EXPECT_EQ(json_at(said.body, "/unchanged/0"), "slow");
  EXPECT_EQ(json_at(get(run, "/api/v1/reload").body, "/taken"), "0");
}

TEST_F(ReloadTest, WhatNeedsARestartIsNamed) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  rewrite("path: semel.db", "path: other.db");
  run.program().signal(SIGHUP);
  EXPECT_TRUE(tells(run.program(), "error[R356] a reload cannot change store.sqlite.path"))
      << run.program().err();
  rewrite("path: other.db", "path: semel.db");
  rewrite("listen: 127.0.0.1:0", "listen: 127.0.0.1:1");
  const auto refused = run.post("/api/v1/reload", "{}", kChiefToken);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(json_at(refused.body, "/code"), "R356");
  EXPECT_NE(json_at(refused.body, "/detail").find("admin.listen"), std::string::npos);
}

TEST_F(ReloadTest, ATokenIsReadAnewFromItsFile) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  write_file(bed_.file("token"), "another one of some length\n");
  run.program().signal(SIGHUP);
  const auto status = [&](std::string_view secret) {
    return get(run, "/api/v1/consumers", secret).status;
  };
  EXPECT_TRUE(comes_true([&] { return status("another one of some length") == 200; }));
  EXPECT_EQ(status(kChiefToken), 401);
  EXPECT_TRUE(tells(run.program(), "the config is taken up: tokens"));
  EXPECT_EQ(state(run, "payments"), "(absent)") << "the old token reads nothing";
}

TEST_F(ReloadTest, ConsumersComeAndGo) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  rewrite("name: slow", "name: calm");
  write_file(bed_.file("go"), "");
  run.program().signal(SIGHUP);
  ASSERT_TRUE(in_effect(run, 1));
  EXPECT_EQ(get(run, "/api/v1/consumers/slow").status, 404);
  EXPECT_EQ(metric(run, "semel_consumer_up{consumer=\"slow\"}"), "(none)");
  EXPECT_EQ(metric(run, "semel_consumer_up{consumer=\"calm\"}"), "1");
  send("calm", "{\"id\":\"new\"}\n");
  EXPECT_TRUE(comes_true([&] { return contents_of(bed_.file("done")) == "new\n"; }));
  EXPECT_EQ(get(run, "/readyz").body.find("slow"), std::string::npos);
}

TEST_F(ReloadTest, ADrainedConsumerBeginsAgainWhenItIsResumed) {
  AdminRun run(bed_, kReloadable);
  hold(run);
  const auto drains =
      run.post("/api/v1/consumers/slow/drain", "{\"reason\":\"disk\"}", kChiefToken);
  EXPECT_EQ(drains.status, 200) << drains.body;
  EXPECT_EQ(json_at(drains.body, "/state"), "draining");
  EXPECT_EQ(json_at(drains.body, "/in_flight"), "1");
  send("slow", "{\"id\":\"second\"}\n");
  write_file(bed_.file("go"), "");
  ASSERT_TRUE(comes_to_state(run, "slow", "drained"));
  EXPECT_EQ(contents_of(bed_.file("done")), "first\n");
  EXPECT_EQ(get(run, "/readyz").status, 200) << "a drain is a person's wish";
  EXPECT_EQ(json_at(get(run, "/readyz").body, "/consumers/1/status"), "drained");
  EXPECT_EQ(metric(run, "semel_consumer_up{consumer=\"slow\"}"), "0");
  EXPECT_EQ(run.post("/api/v1/consumers/none/drain", "{}", kChiefToken).status, 404);
  EXPECT_EQ(run.post("/api/v1/consumers/slow/resume", "{}", kChiefToken).status, 200);
  EXPECT_TRUE(comes_true([&] { return contents_of(bed_.file("done")) == "first\nsecond\n"; }));
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE action = 'consumers.drain' AND "
                        "reason = 'disk' AND outcome = 'drains'"),
            1);
}

TEST_F(ReloadTest, AStopInTheMiddleFinishesWhatRuns) {
  AdminRun run(bed_, kReloadable);
  hold(run);
  send("payments", payments_of(0, 50));
  rewrite("timeout: 50s", "timeout: 55s");
  run.program().signal(SIGHUP);
  ASSERT_TRUE(comes_to_state(run, "slow", "draining"));
  run.program().signal(SIGTERM);
  ASSERT_TRUE(
      comes_true([&] { return json_at(get(run, "/readyz").body, "/status") == "draining"; }));
  write_file(bed_.file("go"), "");
  EXPECT_EQ(run.program().wait().code, 0);
  EXPECT_EQ(contents_of(bed_.file("done")), "first\n") << "it was not hurried";
  EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
  EXPECT_EQ(balance(), 50);
  EXPECT_EQ(contents_of(bed_.file("done")), "first\n");
}

// The next engine needs the store, and tries until it has it.
TEST_F(ReloadTest, WhileTheStoreIsAwayItWaits) {
  AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  auto lock = std::make_unique<WriteLock>(bed_.database());
  const auto refused = run.post("/api/v1/reload", "{}", kChiefToken);
  EXPECT_EQ(json_at(refused.body, "/code"), "R206") << "no entry, no act: " << refused.body;
  EXPECT_EQ(json_at(get(run, "/api/v1/reload").body, "/taken"), "0");
  rewrite("timeout: 20s", "timeout: 30s");
  run.program().signal(SIGHUP);
  // The file can be read, and so the config be checked.
  ASSERT_TRUE(tells(run.program(), "the config is taken up: payments changed"));
  ASSERT_TRUE(run.is_ready(503));
  // The other one may meet the lock too, where that is held for long.
  EXPECT_TRUE(comes_true([&] {
    return json_at(get(run, "/readyz").body, "/consumers/0/outages/0/component") == "start";
  })) << get(run, "/readyz").body;
  lock.reset();
  ASSERT_TRUE(in_effect(run, 1));
  EXPECT_TRUE(run.is_ready(200));
  send("payments", payments_of(0, 20));
  EXPECT_TRUE(comes_to(20));
}

TEST(ReloadOfOnce, IsRefusedAndChangesNothing) {
  const TestBed bed(payments("{ stdin: {} }"));
  Program run({"run", bed.config(), "--once"}, {.held_input = true});
  run.say(payment("p-1", 1, 5));
  ASSERT_TRUE(comes_true([&] { return bed.number("SELECT sum(balance) FROM account") == 5; }));
  run.signal(SIGHUP);
  EXPECT_TRUE(tells(run, "error[R357]")) << run.err();
  run.say(payment("p-2", 1, 5));
  run.end_input();
  EXPECT_EQ(run.wait().code, 0);
  EXPECT_EQ(bed.number("SELECT sum(balance) FROM account"), 10);
}

// A program whose terminal closes gets SIGHUP like one that is to reload.
TEST(HangUp, OfItsTerminalDrainsARun) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  const std::string program = program_path();
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::execl(program.c_str(), program.c_str(), "run", bed.config().c_str(), nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(comes_true([&] { return bed.number("SELECT sum(balance) FROM account") == 5; }));
  ::close(terminal);
  int status = -1;
  EXPECT_TRUE(comes_true([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  // Its last line has nowhere to go, which is another exit code.
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(bed.number("SELECT count(*) FROM semel_run"), 0) << "it was drained";
}

}  // namespace
}  // namespace semel::test
