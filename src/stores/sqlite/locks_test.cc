// The order in which threads and processes come to the writer.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "stores/sqlite/fair_lock.h"
#include "stores/sqlite/side_file.h"
#include "stores/sqlite/turnstile.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace semel::sqlite {
namespace {

using namespace std::chrono_literals;

TEST(FairLock, FirstComeFirstServed) {
  FairLock lock;
  ASSERT_TRUE(lock.lock(1s));
  std::vector<int> order;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ASSERT_TRUE(lock.lock(10s));
      order.push_back(i);
      lock.unlock();
    });
    while (lock.waiting() != static_cast<std::size_t>(i) + 1) std::this_thread::yield();
  }
  lock.unlock();
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(FairLock, PatienceRunsOutAndTheLineGoesOn) {
  FairLock lock;
  ASSERT_TRUE(lock.lock(1s));
  EXPECT_FALSE(lock.lock(1ms));
  EXPECT_EQ(lock.waiting(), 0U);
  lock.unlock();
  EXPECT_TRUE(lock.lock(0ms));
  lock.unlock();
}

TEST(SideFile, LocksHoldBetweenObjectsAndGoWithThem) {
  const test::TempDir folder;
  SideFile one(folder.file("s.db-semel"));
  {
    SideFile two(folder.file("s.db-semel"));
    EXPECT_TRUE(two.try_lock(lock_byte::kInstances + 7));
    EXPECT_TRUE(two.try_lock(lock_byte::kInstances + 7)) << "one's own is no obstacle";
    EXPECT_FALSE(one.try_lock(lock_byte::kInstances + 7));
    EXPECT_TRUE(one.locked_elsewhere(lock_byte::kInstances + 7));
    EXPECT_FALSE(two.locked_elsewhere(lock_byte::kInstances + 7));
    EXPECT_TRUE(one.try_lock(lock_byte::kReservations + lock_byte::kReservationMask));
  }
  EXPECT_FALSE(one.locked_elsewhere(lock_byte::kInstances + 7));
}

TEST(Turnstile, NamesWhoHasTheTurn) {
  const test::TempDir folder;
  const std::string path = folder.file("s.db-semel");
  test::ChildProcess other = test::ChildProcess::fork([&](test::ChildProcess::Voice& voice) {
    Turnstile turnstile(path);
    Patience::Duration patience = 1s;
    if (!turnstile.enter(patience)) return 1;
    voice.ready();
    test::ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(other.wait_ready());
  Turnstile mine(path);
  Patience::Duration patience = 20ms;
  EXPECT_FALSE(mine.enter(patience));
  EXPECT_EQ(patience, 0ms);
  EXPECT_EQ(mine.holder(), other.pid());
  other.kill();
  ASSERT_TRUE(other.wait().has_value());
  patience = 10s;
  EXPECT_TRUE(mine.enter(patience)) << "the kernel frees what a dead process had";
  mine.leave();
}

// Both write all the time; neither may be much ahead.
TEST(Turnstile, TwoBusyProcessesTakeTurns) {
  const test::TempDir folder;
  const std::string path = folder.file("s.db-semel");
  constexpr int kTheirs = 300;
  // Of both processes. Theirs are counted while the other is at it too, and mine while theirs are.
  struct Turns {
    std::atomic<int> mine{0}, theirs{0};
  };
  void* const shared =
      ::mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Turns& turns = *new (shared) Turns;
  const auto take_turn = [](Turnstile& turnstile) {
    Patience::Duration patience = 10s;
    if (!turnstile.enter(patience)) return false;
    std::this_thread::sleep_for(300us);
    turnstile.leave();
    return true;
  };
  test::ChildProcess other = test::ChildProcess::fork([&](test::ChildProcess::Voice&) {
    while (turns.mine == 0) std::this_thread::sleep_for(1ms);
    Turnstile turnstile(path);
    while (turns.theirs < kTheirs && take_turn(turnstile)) ++turns.theirs;
    return 0;
  });
  Turnstile turnstile(path);
  int before = 0;
  while (turns.theirs < kTheirs && turns.mine < 100'000 && take_turn(turnstile)) {
    ++turns.mine;
    if (turns.theirs == 0) before = turns.mine;
  }
  const int mine = turns.mine - before;
  ASSERT_TRUE(other.wait().has_value());
  EXPECT_EQ(turns.theirs, kTheirs);
  EXPECT_GE(mine, 100) << "of 300 turns of the other";
  EXPECT_LE(mine, 900);
  ::munmap(shared, sizeof(Turns));
}

}  // namespace
}  // namespace semel::sqlite
