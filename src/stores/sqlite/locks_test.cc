// The order in which threads and processes get the writer.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "stores/sqlite/fair_lock.h"
#include "stores/sqlite/side_file.h"
#include "stores/sqlite/writer_queue.h"
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

TEST(WriterQueue, NamesWhoHasTheTurn) {
  const test::TempDir folder;
  const std::string path = folder.file("s.db-semel");
  test::ChildProcess other = test::ChildProcess::fork([&](test::ChildProcess::Voice& voice) {
    WriterQueue writer_queue(path);
    WaitBudget::Duration patience = 1s;
    if (!writer_queue.enter(patience)) return 1;
    voice.ready();
    test::ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(other.wait_ready());
  WriterQueue mine(path);
  WaitBudget::Duration patience = 20ms;
  EXPECT_FALSE(mine.enter(patience));
  EXPECT_EQ(patience, 0ms);
  EXPECT_EQ(mine.holder(), other.pid());
  other.kill();
  ASSERT_TRUE(other.wait().has_value());
  patience = 10s;
  EXPECT_TRUE(mine.enter(patience)) << "the kernel frees what a dead process had";
  mine.leave();
}

// Both write all the time, and neither has to wait for many turns of the other. The machine may
// suspend one of them for a while, so the usual wait counts.
TEST(WriterQueue, TwoBusyProcessesTakeTurns) {
  const test::TempDir folder;
  const std::string path = folder.file("s.db-semel");
  constexpr std::size_t kTurns = 300;
  constexpr int kFair = 3;
  // In memory that both processes share.
  struct Process {
    std::atomic<int> turns{0};
    std::array<int, kTurns> waited{};  // for this many turns of the other
    std::atomic<std::size_t> waits{0};
  };
  struct Both {
    Process one, other;
  };
  void* const shared =
      ::mmap(nullptr, sizeof(Both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Both& both = *new (shared) Both;
  // Until each has waited often enough while the other was writing.
  const auto take_turns = [&path](Process& mine, const Process& others) {
    WriterQueue writer_queue(path);
    while (mine.waits < kTurns || others.waits < kTurns) {
      const int before = others.turns;
      WaitBudget::Duration patience = 60s;
      if (!writer_queue.enter(patience)) return false;
      if (before > 0 && mine.waits < kTurns) mine.waited.at(mine.waits++) = others.turns - before;
      std::this_thread::sleep_for(300us);
      ++mine.turns;
      writer_queue.leave();
    }
    return true;
  };
  test::ChildProcess child = test::ChildProcess::fork(
      [&](test::ChildProcess::Voice&) { return take_turns(both.other, both.one) ? 0 : 1; });
  EXPECT_TRUE(take_turns(both.one, both.other));
  const auto ended = child.wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 0);
  for (Process* process : {&both.one, &both.other}) {
    std::ranges::sort(process->waited);
    EXPECT_LE(process->waited.at(kTurns / 2), kFair);
  }
  ::munmap(shared, sizeof(Both));
}

}  // namespace
}  // namespace semel::sqlite
