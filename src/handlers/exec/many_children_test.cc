// Hundreds of commands at a time, on a system without room for them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <semel/reason.h>

#include "handlers/exec/exec_handler.h"
#include "handlers/exec/test_calls.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/temp_dir.h"

namespace semel::handlers::exec {
namespace {

using Kind = Verdict::Kind;

constexpr int kMany = 200;

using Calls = std::vector<std::unique_ptr<TestCall>>;

Calls make_calls(int count) {
  Calls calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back(
        std::make_unique<TestCall>(fmt::format("payload {}", i), fmt::format("k-{}", i)));
  }
  return calls;
}

TEST(ManyChildren, AllRunAtOnceAndEachGetsItsOwn) {
  const test::TempDir folder;
  // No command ends before all have begun: each waits until somebody may write to the pipe.
  ASSERT_EQ(::mkfifo(folder.file("go").c_str(), 0600), 0);
  const auto handler =
      handler_of(shell(fmt::format("cd {}; cat > in.$SEMEL_KEY; : > $SEMEL_KEY; : < go; "
                                   "cat in.$SEMEL_KEY",
                                   folder.path().string())));
  const Calls calls = make_calls(kMany);
  for (const auto& call : calls) call->begin(handler);
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(test::comes_true([&] {
      return ::access(folder.file(fmt::format("k-{}", i)).c_str(), F_OK) == 0;
    })) << i;
  }
  for (const auto& call : calls) EXPECT_FALSE(call->answered());
  const std::fstream go(folder.file("go"), std::ios::in | std::ios::out);
  ASSERT_TRUE(go.is_open());
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(calls[static_cast<std::size_t>(i)]->wait()->result(), fmt::format("payload {}", i));
  }
  EXPECT_FALSE(has_children());
}

TEST(ManyChildren, AllTimeOutAtOnce) {
  auto spec = shell("trap '' TERM; sleep 600");
  spec.grace = std::chrono::milliseconds(200);
  int started = 0;
  // A busy machine may not start all commands in time: then the timeout is doubled.
  for (spec.timeout = std::chrono::milliseconds(200);
       started < kMany / 2 && spec.timeout < std::chrono::minutes(1); spec.timeout *= 2) {
    started = 0;
    const auto handler = handler_of(spec);
    const Calls calls = make_calls(kMany);
    for (const auto& call : calls) call->begin(handler);
    for (const auto& call : calls) {
      const Verdict verdict = *call->wait();
      EXPECT_EQ(verdict.kind(), Kind::kRetry);
      if (verdict.code() == reason::kHandlerTimeout) ++started;
    }
    EXPECT_FALSE(has_children());
  }
  EXPECT_GE(started, kMany / 2);
}

TEST(ManyChildren, AreStoppedFromManyThreads) {
  const auto handler = handler_of(shell("exec sleep 600"));
  const Calls calls = make_calls(kMany);
  for (const auto& call : calls) call->begin(handler);
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (std::size_t i = part; i < calls.size(); i += 4) calls[i]->stop();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& call : calls) {
    EXPECT_FALSE(call->wait()->counted());
  }
  EXPECT_FALSE(has_children());
}

TEST(ManyChildren, StoppedBeforeTheirStartAreNeverStarted) {
  const auto handler = handler_of(shell("exec sleep 600"));
  // Enough stops to hit the thread at every point of its turn.
  constexpr int kStopped = 3'000;
  const Calls calls = make_calls(kStopped);
  for (const auto& call : calls) {
    call->stop();
    call->begin(handler);
  }
  for (const auto& call : calls) ASSERT_EQ(call->wait()->code(), "handler.exec.start");
}

TEST(ManyChildren, WaitForOneAnotherWhereThereIsNoRoom) {
  const auto handler = handler_of(shell("cat"));
  constexpr std::size_t kRoomForAFew = 24;
  const test::NoDescriptors few(kRoomForAFew);
  const Calls calls = make_calls(kMany);
  for (const auto& call : calls) call->begin(handler);
  for (int i = 0; i < kMany; ++i) {
    const Verdict verdict = *calls[static_cast<std::size_t>(i)]->wait();
    EXPECT_EQ(verdict.kind(), Kind::kDone) << verdict.reason();
    EXPECT_EQ(verdict.result(), fmt::format("payload {}", i));
  }
}

TEST(ManyChildren, WithoutAnyRoomNoneIsToBlame) {
  const auto handler = handler_of(shell("cat"));
  // Enough for a sanitizer that opens files to look at memory.
  constexpr std::size_t kTooFewForOne = 4;
  const test::NoDescriptors few(kTooFewForOne);
  NotingGate gate;
  TestCall call;
  call.attempt.gate = &gate;
  const Verdict verdict = *call.begin(handler).wait();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.exec.start");
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(gate.told().size(), 1U);
}

TEST(ManyChildren, DoNotWaitForRoomPastTheirTime) {
  const test::TempDir folder;
  const std::string deaf = folder.file("deaf");
  // The first command takes the only room as long as its handler lives, once it ignores SIGTERM.
  auto spec = shell(fmt::format("trap '' TERM; : > {}; exec sleep 600", deaf));
  spec.grace = std::chrono::minutes(10);
  constexpr std::size_t kRoomForOne = 9;
  for (spec.timeout = std::chrono::milliseconds(200);; spec.timeout *= 2) {
    auto handler = handler_of(spec);
    const test::NoDescriptors few(kRoomForOne);
    TestCall first;
    TestCall second;
    first.begin(handler);
    ASSERT_TRUE(
        test::comes_true([&] { return first.answered() || ::access(deaf.c_str(), F_OK) == 0; }));
    // On a busy machine the timeout may pass before that.
    if (first.answered() && spec.timeout < std::chrono::minutes(1)) continue;
    second.begin(handler);
    const Verdict late = *second.wait();
    EXPECT_FALSE(first.answered());
    EXPECT_EQ(late.code(), "handler.exec.start");
    EXPECT_FALSE(late.counted());
    EXPECT_NE(late.reason().find("no room"), std::string::npos) << late.reason();
    handler = nullptr;
    EXPECT_TRUE(first.wait()->unknown());
    return;
  }
}

}  // namespace
}  // namespace semel::handlers::exec
