#include <semel/environment.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace semel {
namespace {

TEST(Environment, IsOneAndComplete) {
  Environment& environment = system_environment();
  EXPECT_EQ(&environment, &system_environment());
  ASSERT_NE(environment.clock, nullptr);
  ASSERT_NE(environment.random, nullptr);
}

TEST(Environment, TheClockDoesNotGoBack) {
  Clock& clock = *system_environment().clock;
  auto before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.now();
    ASSERT_GE(now, before);
    before = now;
  }
}

// A suspension cannot be had here.
TEST(Environment, ElapsedTimeIsNotShorterThanSteadyTime) {
  Clock& clock = *system_environment().clock;
  const auto elapsed = clock.elapsed();
  const auto began = clock.now();
  while (clock.now() - began < std::chrono::milliseconds(2)) continue;
  const auto steady = clock.now() - began;
  EXPECT_GE(clock.elapsed() - elapsed, steady);
}

TEST(Environment, NoNumberIsDrawnTwiceByAnyThread) {
  constexpr std::size_t kEach = 10'000;
  std::mutex mutex;
  std::set<std::uint64_t> seen;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<std::uint64_t> drawn(kEach);
      for (std::uint64_t& number : drawn) number = system_environment().random->next();
      const std::lock_guard lock(mutex);
      seen.insert(drawn.begin(), drawn.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), 4 * kEach);
}

TEST(Environment, EveryBitIsDrawn) {
  std::uint64_t ones = 0, zeros = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = system_environment().random->next();
    ones |= number;
    zeros |= ~number;
  }
  EXPECT_EQ(ones, ~std::uint64_t{0});
  EXPECT_EQ(zeros, ~std::uint64_t{0});
}

TEST(Environment, AChildDoesNotDrawWhatItsParentDraws) {
  Random& random = *system_environment().random;
  random.next();  // the thread's buffer is filled now, and the fork copies it
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  constexpr std::size_t kDrawn = 100;
  if (child == 0) {
    std::vector<std::uint64_t> drawn(kDrawn);
    for (std::uint64_t& number : drawn) number = random.next();
    const ssize_t wrote = ::write(channel[1], drawn.data(), sizeof(std::uint64_t) * kDrawn);
    ::_exit(wrote == static_cast<ssize_t>(sizeof(std::uint64_t) * kDrawn) ? 0 : 1);
  }
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < kDrawn; ++i) seen.insert(random.next());
  std::vector<std::uint64_t> theirs(kDrawn);
  ASSERT_EQ(::read(channel[0], theirs.data(), sizeof(std::uint64_t) * kDrawn),
            static_cast<ssize_t>(sizeof(std::uint64_t) * kDrawn));
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  seen.insert(theirs.begin(), theirs.end());
  EXPECT_EQ(seen.size(), 2 * kDrawn);
  ::close(channel[0]);
  ::close(channel[1]);
}

}  // namespace
}  // namespace semel
