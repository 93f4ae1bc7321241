#include <semel/environment.h>

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace semel {
namespace {

class SteadyClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::now();
  }
  std::chrono::nanoseconds elapsed() noexcept override {
    timespec time{};
    // Every Linux that runs this has the clock.
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

// Grows in the child of each fork: numbers that the parent buffered must not be drawn there again.
std::atomic<std::uint64_t>& forks() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

[[noreturn]] void no_randomness() noexcept {
  std::fputs("semel: the kernel gives no random bytes\n", stderr);
  std::abort();
}

// A system call for each number would cost more than the rest of a claim in this process.
class KernelRandom final : public Random {
 public:
  KernelRandom() noexcept {
    if (pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1); }) != 0) no_randomness();
  }

  std::uint64_t next() noexcept override {
    thread_local Buffer buffer;
    const std::uint64_t now = forks().load(std::memory_order_relaxed);
    if (buffer.left == 0 || buffer.forks != now) refill(buffer, now);
    return std::exchange(buffer.words[--buffer.left], 0);
  }

 private:
  struct Buffer {
    std::array<std::uint64_t, 64> words;
    std::size_t left = 0;
    std::uint64_t forks = 0;
  };

  static void refill(Buffer& buffer, std::uint64_t now) noexcept {
    auto* at = reinterpret_cast<unsigned char*>(buffer.words.data());
    for (std::size_t missing = sizeof buffer.words; missing > 0;) {
      const ssize_t got = ::getrandom(at, missing, 0);
      if (got < 0 && errno != EINTR) no_randomness();
      if (got > 0) {
        at += got;
        missing -= static_cast<std::size_t>(got);
      }
    }
    buffer.left = buffer.words.size();
    buffer.forks = now;
  }
};

}  // namespace

Environment& system_environment() noexcept {
  static SteadyClock clock;
  static KernelRandom random;
  static Environment environment{&clock, &random, nullptr};
  return environment;
}

}  // namespace semel
