// Processes killed at random moments, holders that sleep too long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::map<std::string, std::string> kNone;

std::vector<std::string> numbered(std::size_t count, std::size_t first = 0) {
  std::vector<std::string> ids;
  for (std::size_t i = first; i < first + count; ++i) ids.push_back("m" + std::to_string(i));
  return ids;
}

// Kills the worker `kills` times at random moments after it began to work, then lets it finish.
// `more`: adds work if the worker finished before a kill.
void kill_again_and_again(const TestBed& bed, std::vector<std::string> settings, std::size_t kills,
                          SeededRandom& random, const std::function<void()>& more) {
  settings.push_back("say=1");
  // A worker begins with the first message that is not done, always the same one, and its kill may
  // come right then: to the store that message ends its process, as often as there are kills.
  settings.push_back(fmt::format("crashes={}", kills));
  std::size_t started = 0;
  for (std::size_t killed = 0; killed < kills; ++started) {
    ASSERT_LT(started, 10 * kills) << "the kills come too late";
    ChildProcess worker = bed.start(settings);
    if (worker.line(seconds(60))) {
      std::this_thread::sleep_for(microseconds(random.below(12'000)));
    }
    worker.kill();
    const auto ended = worker.wait();
    ASSERT_TRUE(ended);
    if (ended->signal == SIGKILL) {
      ++killed;
    } else {
      ASSERT_EQ(ended->code, 0);
      more();
    }
  }
  EXPECT_EQ(bed.run(settings), 0);
}

TEST(Kills, TransactionalEffectsHappenOnceUnderRandomKills) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(60 / share_of_rounds());
  TestBed bed;
  bed.send_new(kills * 1'000);
  kill_again_and_again(bed, {"strategy=dedup_table", "handler=native"}, kills, random,
                       [&] { bed.send_new(10'000); });
  const auto effects = bed.effects();
  EXPECT_EQ(effects.size(), bed.sent());
  for (const auto& [key, count] : effects) ASSERT_EQ(count, 1u) << key;
  EXPECT_EQ(bed.total(), bed.sent());
  EXPECT_EQ(bed.dead(), kNone) << "an innocent message was given up";
}

TEST(Kills, OutsideEffectsAreNeverLostUnderRandomKills) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(40 / share_of_rounds());
  TestBed bed;
  bed.send_new(kills * 200);
  kill_again_and_again(bed,
                       {"strategy=state_machine", "handler=plain", "ledger=" + bed.ledger_path()},
                       kills, random, [&] { bed.send_new(2'000); });
  const auto balance = Ledger(bed.ledger_path()).balance();
  EXPECT_EQ(balance.keys, bed.sent());
  // Each kill can interrupt effects that are not recorded yet; never more than a batch.
  EXPECT_LE(balance.doubled, kills * 100);
  EXPECT_EQ(bed.dead(), kNone);
}

TEST(Kills, AThrowingHandlerAndTenKillsWithFullRedelivery) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  for (const char* strategy : {"dedup_table", "inbox"}) {
    SCOPED_TRACE(strategy);
    TestBed bed;
    std::size_t messages = 20'000 / share_of_rounds();
    bed.write_lines(bed.file("messages"), numbered(messages));
    kill_again_and_again(bed,
                         {std::string("strategy=") + strategy, "handler=native", "throws=100",
                          "source=file", "from=start", "file=" + bed.file("messages")},
                         10, random, [&] {
                           constexpr std::size_t kMore = 10'000;
                           bed.add_lines(bed.file("messages"), numbered(kMore, messages));
                           messages += kMore;
                         });
    const auto effects = bed.effects();
    EXPECT_EQ(effects.size(), messages) << "lost";
    for (const auto& [key, count] : effects) ASSERT_EQ(count, 1u) << key;
    EXPECT_EQ(bed.dead(), kNone);
  }
}

TEST(Holders, TheLateWriteOfAHolderThatSleptPastItsLeaseIsRefused) {
  TestBed bed;
  bed.send({"slow"});
  const std::vector<std::string> settings{"strategy=state_machine", "handler=plain",
                                          "ledger=" + bed.ledger_path(), "lease=400ms", "tell=1"};
  std::vector<std::string> first = settings;
  first.push_back("hold=slow");
  first.push_back("hold_file=" + bed.file("go"));
  first.push_back("once=0");
  ChildProcess sleeper = bed.start(first);
  ASSERT_EQ(sleeper.line(seconds(60)), "holding");
  sleeper.stop();

  // It still holds its lock: nothing may be taken from it before its lease has ended.
  ChildProcess other = bed.start(settings);
  // Its row can be visible a moment earlier: then the key is busy.
  auto told = other.line();
  while (told == "busy slow") told = other.line();
  EXPECT_EQ(told, "done slow");
  const auto ended = other.wait();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0);

  write_file(bed.file("go"), "");
  sleeper.resume();
  EXPECT_EQ(sleeper.line(), "lost slow");
  sleeper.terminate();
  ASSERT_TRUE(sleeper.wait());
  EXPECT_EQ(Ledger(bed.ledger_path()).counts().at("slow"), 2u) << "the table says >=1: it shows";
  EXPECT_EQ(bed.dead(), kNone);
  EXPECT_EQ(bed.held(), 0u);
}

}  // namespace
}  // namespace semel::test
