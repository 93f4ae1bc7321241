#include "system/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "system/shared_mutex.h"

namespace semel::system {
namespace {

using namespace std::chrono_literals;

constexpr auto kMoment = 20ms;

struct Counter {
  Mutex mutex;
  CondVar changed;
  int count SEMEL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 10'000;
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) {
        const MutexLock lock(counter.mutex);
        ++counter.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.count, kThreads * kTimes);
}

// Whether another thread could lock it now.
bool is_free(Mutex& mutex) {
  bool locked = false;
  std::thread([&] {
    locked = mutex.try_lock();
    if (locked) mutex.unlock();
  }).join();
  return locked;
}

TEST(Mutex, IsHeldToTheEndOfTheBlock) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, IsTakenOverFromTryLock) {
  Mutex mutex;
  if (mutex.try_lock()) {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(is_free(mutex));
  } else {
    ADD_FAILURE();
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, IsFreeBetweenUnlockAndLock) {
  Mutex mutex;
  {
    RelockableLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    lock.lock();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
  {
    RelockableLock lock(mutex);
    lock.unlock();
  }
  EXPECT_TRUE(is_free(mutex)) << "unlocked once";
}

TEST(CondVar, WaitsWithTheMutexFreeAndReturnsWithItHeld) {
  Counter counter;
  std::thread other([&] {
    const MutexLock lock(counter.mutex);
    ++counter.count;
    counter.changed.notify_one();
  });
  {
    const MutexLock lock(counter.mutex);
    counter.changed.wait(counter.mutex,
                         [&]() SEMEL_REQUIRES(counter.mutex) { return counter.count == 1; });
    EXPECT_FALSE(is_free(counter.mutex));
  }
  EXPECT_TRUE(is_free(counter.mutex));
  other.join();
}

TEST(CondVar, WaitsWithoutAPredicate) {
  Counter counter;
  std::thread other([&] {
    const MutexLock lock(counter.mutex);
    ++counter.count;
    counter.changed.notify_all();
  });
  {
    const MutexLock lock(counter.mutex);
    while (counter.count == 0) counter.changed.wait(counter.mutex);
    EXPECT_FALSE(is_free(counter.mutex));
  }
  other.join();
}

TEST(CondVar, SaysWhenTheTimeIsOver) {
  Counter counter;
  const MutexLock lock(counter.mutex);
  const auto some = [&]() SEMEL_REQUIRES(counter.mutex) { return counter.count > 0; };
  const auto until = std::chrono::steady_clock::now() + kMoment;
  EXPECT_FALSE(counter.changed.wait_for(counter.mutex, kMoment, some));
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  EXPECT_FALSE(counter.changed.wait_until(counter.mutex, until, some));
  EXPECT_FALSE(is_free(counter.mutex));
  ++counter.count;
  EXPECT_TRUE(counter.changed.wait_for(counter.mutex, kMoment, some));
  EXPECT_TRUE(counter.changed.wait_until(counter.mutex, until, some));
  while (counter.changed.wait_until(counter.mutex, until) != std::cv_status::timeout) {
  }
}

TEST(SharedMutex, LetsReadersInTogetherAndWritersAlone) {
  constexpr int kLooks = 10;
  SharedMutex mutex;
  std::atomic<bool> comes{false};
  std::atomic<bool> wrote{false};
  std::thread writer;
  {
    const ReaderLock one(mutex);
    std::thread([&] { const ReaderLock another(mutex); }).join();
    writer = std::thread([&] {
      comes = true;
      const WriterLock lock(mutex);
      wrote = true;
    });
    while (!comes) std::this_thread::yield();
    for (int i = 0; i < kLooks; ++i) {
      std::this_thread::yield();
      EXPECT_FALSE(wrote);
    }
  }
  writer.join();
  EXPECT_TRUE(wrote);
  const WriterLock alone(mutex);
}

}  // namespace
}  // namespace semel::system
