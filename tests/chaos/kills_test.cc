// Processes killed at random moments, holders that sleep too long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/chaos/scene.h"
#include "tests/support/ledger.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::map<std::string, std::string> kNone;

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back("m" + std::to_string(i));
  return ids;
}

// Kills the worker `kills` times at random moments after it began to work, then lets it finish.
void kill_again_and_again(const Scene& scene, std::vector<std::string> settings, std::size_t kills,
                          SeededRandom& random) {
  settings.push_back("say=1");
  // A worker begins with the first message that is not done, always the same one, and its kill may
  // come right then: to the store that message ends its process, as often as there are kills.
  settings.push_back(fmt::format("crashes={}", kills));
  std::size_t killed = 0;
  while (killed < kills) {
    ChildProcess worker = scene.start(settings);
    const auto began = worker.line();
    if (!began) break;  // nothing was left to do
    std::this_thread::sleep_for(microseconds(random.below(12'000)));
    worker.kill();
    const auto ended = worker.wait();
    ASSERT_TRUE(ended);
    if (ended->signal == SIGKILL) ++killed;
    if (ended->code == 0) break;
  }
  EXPECT_EQ(killed, kills) << "the work ended before the kills did: give it more";
  EXPECT_EQ(scene.run(settings), 0);
}

TEST(Kills, TransactionalEffectsHappenOnceUnderRandomKills) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = 60 * soak_factor() / share_of_rounds();
  Scene scene;
  scene.send(with_twins(kills * 1'000));
  kill_again_and_again(scene, {"strategy=dedup_table", "handler=native"}, kills, random);
  const auto effects = scene.effects();
  EXPECT_EQ(effects.size(), kills * 1'000);
  for (const auto& [key, count] : effects) ASSERT_EQ(count, 1u) << key;
  EXPECT_EQ(scene.total(), kills * 1'000);
  EXPECT_EQ(scene.dead(), kNone) << "an innocent message was given up";
}

TEST(Kills, OutsideEffectsAreNeverLostUnderRandomKills) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = 40 * soak_factor() / share_of_rounds();
  Scene scene;
  // On a busy machine a kill may come late, and find more of the work done.
  constexpr std::size_t kEach = 200;
  scene.send(with_twins(kills * kEach));
  kill_again_and_again(scene,
                       {"strategy=state_machine", "handler=plain", "ledger=" + scene.ledger_path()},
                       kills, random);
  const auto balance = Ledger(scene.ledger_path()).balance();
  EXPECT_EQ(balance.keys, kills * kEach);
  // Each kill can have caught what ran and was not yet recorded; never more than a batch.
  EXPECT_LE(balance.doubled, kills * 100);
  EXPECT_EQ(scene.dead(), kNone);
}

TEST(Kills, AThrowingHandlerAndTenKillsWithFullRedelivery) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t messages = 20'000 / share_of_rounds();
  for (const char* strategy : {"dedup_table", "inbox"}) {
    SCOPED_TRACE(strategy);
    Scene scene;
    scene.write_lines(scene.file("messages"), numbered(messages));
    kill_again_and_again(scene,
                         {std::string("strategy=") + strategy, "handler=native", "throws=100",
                          "source=file", "from=start", "file=" + scene.file("messages")},
                         10, random);
    const auto effects = scene.effects();
    EXPECT_EQ(effects.size(), messages) << "lost";
    for (const auto& [key, count] : effects) ASSERT_EQ(count, 1u) << key;
    EXPECT_EQ(scene.dead(), kNone);
  }
}

TEST(Holders, TheLateWriteOfAHolderThatSleptPastItsLeaseIsRefused) {
  Scene scene;
  scene.send({"slow"});
  const std::vector<std::string> settings{"strategy=state_machine", "handler=plain",
                                          "ledger=" + scene.ledger_path(), "lease=400ms", "tell=1"};
  std::vector<std::string> first = settings;
  first.push_back("hold=slow");
  first.push_back("hold_file=" + scene.file("go"));
  first.push_back("once=0");
  ChildProcess sleeper = scene.start(first);
  ASSERT_EQ(sleeper.line(), "holding");
  sleeper.stop();

  // It still holds its lock: nothing may be taken from it before its lease has ended.
  ChildProcess other = scene.start(settings);
  // Its row may show a moment before: whoever looks then finds the key busy.
  auto told = other.line();
  while (told == "busy slow") told = other.line();
  EXPECT_EQ(told, "done slow");
  const auto ended = other.wait();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0);

  write_file(scene.file("go"), "");
  sleeper.resume();
  EXPECT_EQ(sleeper.line(), "lost slow");
  sleeper.terminate();
  ASSERT_TRUE(sleeper.wait());
  EXPECT_EQ(Ledger(scene.ledger_path()).counts().at("slow"), 2u) << "the table says >=1: it shows";
  EXPECT_EQ(scene.dead(), kNone);
  EXPECT_EQ(scene.held(), 0u);
}

TEST(Holders, TwoProcessesOnOneFileShareFairly) {
  Scene scene;
  const std::size_t messages = 60'000 / share_of_rounds();
  scene.send(numbered(messages));
  const std::vector<std::string> settings{"strategy=dedup_table", "handler=native", "say=1"};
  ChildProcess one = scene.start(settings);
  ChildProcess two = scene.start(settings);
  ASSERT_EQ(one.line(), "began");
  ASSERT_EQ(two.line(), "began");
  // What the first did before is nobody's share.
  auto before = scene.effects_by_process();
  ASSERT_TRUE(one.wait());
  ASSERT_TRUE(two.wait());
  const auto shares = scene.effects_by_process();
  std::size_t all = 0;
  std::size_t shared = 0;
  std::size_t least = SIZE_MAX;
  for (const auto& [pid, count] : shares) {
    const std::size_t share = count - before[pid];
    all += count;
    shared += share;
    least = std::min(least, share);
  }
  EXPECT_EQ(all, messages);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_GE(least * 4, shared) << "the slower got less than a quarter";
}

}  // namespace
}  // namespace semel::test
