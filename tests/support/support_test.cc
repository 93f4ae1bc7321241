// The tools of the tests are tested: a fault that does not fire, or a ledger that miscounts, proves
// nothing.
#include <gtest/gtest.h>
#include <semel/memory.h>

#include <csignal>
#include <variant>

#include "tests/support/builders.h"
#include "tests/support/child_process.h"
#include "tests/support/fault_store.h"
#include "tests/support/ledger.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using namespace std::chrono_literals;

TEST(ChildProcessTest, IsKilledAndSaysSo) {
  auto child = ChildProcess::fork([](ChildProcess::Voice& voice) -> int {
    voice.say("first");
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  EXPECT_EQ(child.line(), "first");
  ASSERT_TRUE(child.wait_ready());
  EXPECT_FALSE(child.wait(1ms).has_value());
  child.kill();
  EXPECT_EQ(child.wait()->signal, SIGKILL);
  EXPECT_FALSE(child.line(10ms).has_value());
}

TEST(ChildProcessTest, StandsStillUntilResumed) {
  auto child = ChildProcess::fork([](ChildProcess::Voice& voice) -> int {
    for (;;) voice.say("alive");
  });
  ASSERT_EQ(child.line(), "alive");
  child.stop();
  while (child.line(50ms)) continue;  // earlier lines
  EXPECT_FALSE(child.line(50ms).has_value());
  child.resume();
  EXPECT_EQ(child.line(), "alive");
}

TEST(ChildProcessTest, TellsItsExitCodeAndRunsPrograms) {
  EXPECT_EQ(ChildProcess::fork([](auto&) { return 7; }).wait()->code, 7);
  auto program = ChildProcess::run({"/bin/sh", "-c", "echo $SAID; exit 3"}, {"SAID=hello"});
  EXPECT_EQ(program.line(), "hello");
  EXPECT_EQ(program.wait()->code, 3);
}

TEST(LedgerTest, CountsEffectsOfSeveralProcesses) {
  const TempDir folder;
  const std::string path = folder.file("ledger");
  const Bytes hostile("a\n\0\xff", 4);
  {
    Ledger mine(path);
    mine.note("once");
    mine.note(hostile);
    auto child = ChildProcess::fork([&](auto&) {
      Ledger theirs(path);
      theirs.note(hostile);
      return 0;
    });
    ASSERT_EQ(child.wait()->code, 0);
  }
  append_file(path, "6f6");  // cut short
  const Ledger ledger(path);
  const auto counts = ledger.counts();
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts.at(hostile), 2U);
  EXPECT_EQ(counts.at("once"), 1U);
  EXPECT_EQ(ledger.balance().effects, 3U);
  EXPECT_EQ(ledger.balance().doubled, 1U);
}

TEST(FaultStoreTest, FailsBeforeOrAfterTheCall) {
  TestEnvironment environment;
  MemoryOptions options;
  options.environment = &environment.get();
  const auto inner = make_memory_store(options);
  FaultPlan plan;
  const auto store = make_fault_store(*inner, plan);
  const ConsumerNumber consumer = store->attach({"c", "r", false, {}}).value();
  const auto claim = [&](const Message& message) {
    const Message* one = &message;
    return store->claim({&one, 1}, {});
  };
  plan.fail(StoreCall::kClaim, 2, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_TRUE(claim(make_message(consumer, "a")).has_value());
  const auto lost = claim(make_message(consumer, "b"));
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(plan.fired(StoreCall::kClaim), 1U);
  EXPECT_TRUE(std::holds_alternative<Acquired>(claim(make_message(consumer, "b")).value().at(0)))
      << "it never reached the store";

  plan.fail(StoreCall::kClaim, 1, ErrorKind::kInDoubt, When::kAfter);
  EXPECT_FALSE(claim(make_message(consumer, "d")).has_value());
  EXPECT_TRUE(std::holds_alternative<Busy>(claim(make_message(consumer, "d")).value().at(0)))
      << "the store did it, only the answer was lost";

  plan.fail_always(StoreCall::kFinish, ErrorKind::kUnavailable, When::kBefore);
  EXPECT_FALSE(store->finish({}).has_value());
  EXPECT_FALSE(store->finish({}).has_value());
  plan.clear();
  EXPECT_TRUE(store->finish({}).has_value());
  EXPECT_EQ(plan.fired(), 4U);
  EXPECT_EQ(plan.calls(StoreCall::kFinish), 3U);
}

TEST(HookedFailpointsTest, CountAndAct) {
  HookedFailpoints failpoints;
  int acted = 0;
  failpoints.on("claimed", [&] { ++acted; });
  failpoints.hit("claimed");
  failpoints.hit("finished");
  failpoints.hit("claimed");
  EXPECT_EQ(acted, 2);
  EXPECT_EQ(failpoints.hits("claimed"), 2U);
  EXPECT_EQ(failpoints.hits("finished"), 1U);
  EXPECT_EQ(failpoints.hits("begun"), 0U);
}

TEST(BuildersTest, OrderedKeysAreOrdered) {
  const ConsumerNumber consumer{1};
  for (std::size_t i = 1; i < 3000; i += 7) {
    EXPECT_LT(make_message(consumer, ulid(i)).key().id,
              make_message(consumer, ulid(i + 1)).key().id);
    EXPECT_LT(make_message(consumer, uuid(i)).key().id,
              make_message(consumer, uuid(i + 1)).key().id);
  }
}

}  // namespace
}  // namespace semel::test
