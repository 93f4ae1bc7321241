// Commands that misbehave cost only their own message, and leave nothing behind.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include <semel/reason.h>

#include "handlers/exec/exec_handler.h"
#include "handlers/exec/test_calls.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace semel::handlers::exec {
namespace {

using Kind = Verdict::Kind;
using std::chrono::milliseconds;

constexpr std::size_t kTenMegabytes = 10 << 20;
constexpr milliseconds kShort{200};
constexpr milliseconds kLongest{60'000};

class Containment : public testing::Test {
 protected:
  ~Containment() override { EXPECT_FALSE(has_children()) << "a child is left"; }
};

bool started(const Verdict& verdict) { return verdict.code() != "handler.exec.start"; }
bool said(const Verdict& verdict) {
  return verdict.reason().find("; it said: ") != std::string::npos;
}

// Runs the command until its timeout. On a busy machine the command may not have reached the state
// `there` by then, so the timeout is doubled.
Verdict run_into_timeout(core::ExecSpec spec, bool (*there)(const Verdict&) = started) {
  for (spec.timeout = kShort;; spec.timeout *= 2) {
    Verdict verdict = run(spec);
    if (there(verdict) || spec.timeout > kLongest) return verdict;
  }
}

void expect_timeout(const Verdict& verdict) {
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), reason::kHandlerTimeout);
  EXPECT_TRUE(verdict.unknown());
  EXPECT_TRUE(verdict.counted());
  EXPECT_TRUE(verdict.reason().starts_with("the command ran longer than its timeout of "))
      << verdict.reason();
}

pid_t pid_in(const std::string& text) { return static_cast<pid_t>(std::stol(text)); }

TEST_F(Containment, TenMegabytesGoInAndOut) {
  const std::string payload(kTenMegabytes, 'x');
  EXPECT_EQ(run(shell("wc -c"), payload).result(), fmt::format("{}\n", kTenMegabytes));
  auto spec = shell("cat");
  spec.result_limit = kTenMegabytes;
  EXPECT_TRUE(run(spec, payload).result() == payload);
}

TEST_F(Containment, ACommandThatNeverReads) {
  const std::string payload(kTenMegabytes, 'x');
  EXPECT_EQ(run(shell("exit 0"), payload).kind(), Kind::kDone);
  EXPECT_EQ(run(shell("exec 0<&-; echo closed"), payload).result(), "closed\n");
  EXPECT_EQ(run(shell("head -c 3"), payload).result(), "xxx");
}

TEST_F(Containment, AFullPipeHoldsBackNobodyElse) {
  const std::string payload(kTenMegabytes, 'x');
  // For the first message the command sleeps with its stdin open; for the others it reads stdin.
  const auto handler = handler_of(shell("[ $SEMEL_KEY = stuck ] && exec sleep 600; wc -c"));
  TestCall stuck(payload, "stuck");
  stuck.begin(handler);
  for (int i = 0; i < 3; ++i) {
    TestCall other(payload, "other");
    EXPECT_EQ(other.begin(handler).wait()->result(), fmt::format("{}\n", kTenMegabytes));
  }
  EXPECT_FALSE(stuck.answered());
  stuck.stop();
  EXPECT_EQ(stuck.wait()->code(), "handler.exec.signal_15");
}

TEST_F(Containment, TenMegabytesOnStdoutAreNotKept) {
  const Verdict verdict = run(shell(fmt::format("head -c {} /dev/zero", kTenMegabytes)));
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), reason::kTooLarge);
  EXPECT_NE(verdict.reason().find(std::to_string(kTenMegabytes)), std::string::npos);
}

TEST_F(Containment, OutputWithoutEndLastsUntilTheTimeout) {
  const auto handler = handler_of(shell("[ $SEMEL_KEY = k ] && exec echo hello; exec yes"));
  TestCall endless("{}", "endless");
  endless.begin(handler);
  TestCall other("{}", "k");
  EXPECT_EQ(other.begin(handler).wait()->result(), "hello\n");
  EXPECT_FALSE(endless.answered());
  endless.stop();
  (void)endless.wait();
  expect_timeout(run_into_timeout(shell("exec yes")));
  expect_timeout(run_into_timeout(shell("exec yes >&2")));
}

TEST_F(Containment, OfALongStderrTheLastLineIsKept) {
  const Verdict verdict =
      run(shell("yes noise | head -c 3000000 >&2; echo 'out of paper' >&2; exit 1"));
  EXPECT_EQ(verdict.reason(), "out of paper");
  const Verdict line = run(shell("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1"));
  EXPECT_GT(line.reason().size(), 1'000U);
  EXPECT_LT(line.reason().size(), 5'000U);
}

TEST_F(Containment, WhatStandsInThePipeAtTheEndIsRead) {
  EXPECT_EQ(run(shell("head -c 60000 /dev/zero")).result().size(), 60'000U);
}

TEST_F(Containment, ATimeoutTellsTheWholeGroup) {
  const test::TempDir folder;
  const Verdict verdict = run_into_timeout(
      shell(fmt::format("sleep 600 & echo $! > {}; echo waiting >&2; wait", folder.file("pid"))),
      said);
  expect_timeout(verdict);
  EXPECT_TRUE(verdict.reason().ends_with("; it said: waiting")) << verdict.reason();
  EXPECT_TRUE(ends(pid_in(test::read_file(folder.file("pid")))));
}

TEST_F(Containment, ACommandThatIgnoresTheTermIsKilled) {
  auto spec = shell("trap '' TERM; echo deaf >&2; while :; do sleep 600; done");
  spec.grace = kShort;
  const Verdict deaf = run_into_timeout(spec, said);
  expect_timeout(deaf);
  EXPECT_TRUE(said(deaf)) << deaf.reason();
  spec.command.back() = "kill -STOP $$";
  expect_timeout(run_into_timeout(spec));
}

TEST_F(Containment, AnOrderlyEndAfterTheTimeoutIsStillATimeout) {
  const Verdict verdict = run_into_timeout(
      shell("trap 'exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done"), said);
  expect_timeout(verdict);
  EXPECT_TRUE(said(verdict)) << verdict.reason();
}

TEST_F(Containment, AStopIsNotCounted) {
  const test::TempDir folder;
  const auto handler =
      handler_of(shell(fmt::format("echo up > {}; exec sleep 600", folder.file("up"))));
  TestCall call;
  call.begin(handler);
  ASSERT_TRUE(test::comes_true([&] { return ::access(folder.file("up").c_str(), F_OK) == 0; }));
  call.stop();
  const Verdict verdict = *call.wait();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.exec.signal_15");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
}

TEST_F(Containment, AStopBeforeTheStartStartsNothing) {
  const test::TempDir folder;
  const auto handler = handler_of(shell("touch " + folder.file("ran")));
  TestCall call;
  call.stop();
  const Verdict verdict = *call.begin(handler).wait();
  EXPECT_EQ(verdict.code(), "handler.exec.start");
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.unknown());
  EXPECT_NE(::access(folder.file("ran").c_str(), F_OK), 0);
}

TEST_F(Containment, AProcessLeftInTheGroupIsKilled) {
  // One background process holds the pipes open, the other has closed them.
  for (const auto* redirect : {"", "</dev/null >/dev/null 2>&1"}) {
    const Verdict verdict = run(shell(fmt::format("sleep 600 {} & echo $!", redirect)));
    EXPECT_EQ(verdict.kind(), Kind::kDone);
    EXPECT_TRUE(ends(pid_in(verdict.result())));
  }
}

TEST_F(Containment, ADaemonOfItsOwnSessionHoldsBackNothing) {
  const test::TempDir folder;
  const Verdict verdict =
      run(shell(fmt::format("setsid sh -c ': > {0}; exec sleep 600' & echo $!; "
                            "while [ ! -e {0} ]; do sleep 0.01; done",
                            folder.file("away"))));
  EXPECT_EQ(verdict.kind(), Kind::kDone);
  const pid_t daemon = pid_in(verdict.result());
  EXPECT_TRUE(is_alive(daemon));
  ::kill(daemon, SIGKILL);
}

TEST_F(Containment, ADoubleForkIsKilledToo) {
  const Verdict verdict = run(shell("(sleep 600 & echo $!) ; exit 75"));
  EXPECT_EQ(verdict.code(), "handler.exec.75");
  const test::TempDir folder;
  const Verdict done = run(shell("(sh -c 'sleep 600 & echo $!')"));
  EXPECT_TRUE(ends(pid_in(done.result())));
}

TEST_F(Containment, NoDescriptorIsInherited) {
  const int leak = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a library may
  ASSERT_GE(leak, 0);
  const auto handler = handler_of(shell("ls /proc/self/fd"));
  TestCall first;
  TestCall second;
  first.begin(handler);
  second.begin(handler);
  // The fourth descriptor is the directory that ls reads.
  EXPECT_EQ(first.wait()->result(), "0\n1\n2\n3\n");
  EXPECT_EQ(second.wait()->result(), "0\n1\n2\n3\n");
  ::close(leak);
}

TEST_F(Containment, SignalsAreAtTheirDefaults) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const Verdict verdict = run(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  std::signal(SIGPIPE, before);
  EXPECT_EQ(verdict.result(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(Containment, EachLeadsAGroupOfItsOwn) {
  EXPECT_EQ(run(shell("[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo leads")).result(),
            "leads\n");
}

TEST_F(Containment, TheHandlersEndKillsWhatRuns) {
  const test::TempDir folder;
  auto handler = handler_of(shell(fmt::format(
      "trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 600; exit 0", folder.file("pid"))));
  TestCall call;
  call.begin(handler);
  ASSERT_TRUE(test::comes_true([&] { return ::access(folder.file("pid").c_str(), F_OK) == 0; }));
  const pid_t pid = pid_in(test::read_file(folder.file("pid")));
  handler = nullptr;
  EXPECT_FALSE(is_alive(pid));
  ASSERT_TRUE(call.answered());
  const Verdict verdict = *call.wait();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
}

TEST_F(Containment, TheLastCopyOfTheHandlerMayGoInAnAnswer) {
  auto handler = std::make_shared<AsyncHandler>(handler_of(shell("echo hello")));
  std::atomic<bool> begun = false;
  TestCall call;
  call.on_answer = [&] {
    begun.wait(false);
    handler.reset();
  };
  call.begin(*handler);
  begun.store(true);
  begun.notify_one();
  EXPECT_EQ(call.wait()->result(), "hello\n");
}

TEST_F(Containment, CommandsDieWithTheirParent) {
  const test::TempDir folder;
  auto parent = test::ChildProcess::fork([&](test::ChildProcess::Voice&) {
    const auto handler = handler_of(shell(
        fmt::format("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", folder.file("pid"))));
    TestCall call;
    (void)call.begin(handler).wait();
    return 0;
  });
  ASSERT_TRUE(test::comes_true([&] { return ::access(folder.file("pid").c_str(), F_OK) == 0; }));
  const pid_t pid = pid_in(test::read_file(folder.file("pid")));
  EXPECT_TRUE(is_alive(pid));
  parent.kill();
  EXPECT_EQ(parent.wait()->signal, SIGKILL);
  EXPECT_TRUE(ends(pid));
}

}  // namespace
}  // namespace semel::handlers::exec
