// Time, chance and faults that a test holds in its hand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <semel/environment.h>
#include <semel/spi/failpoints.h>

namespace semel::test {

// Stays the same until a test moves it. Thread-safe.
class ManualClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(since_start_.load()));
  }
  std::chrono::nanoseconds elapsed() noexcept override {
    return now().time_since_epoch() + std::chrono::nanoseconds(suspended_.load());
  }
  void advance(std::chrono::nanoseconds by) noexcept { since_start_ += by.count(); }
  // `elapsed` goes on and `now` does not.
  void suspend(std::chrono::nanoseconds time) noexcept { suspended_ += time.count(); }

 private:
  static constexpr std::int64_t kStart = 3'600'000'000'000;  // not zero: zero hides mistakes
  std::atomic<std::int64_t> since_start_{kStart};
  std::atomic<std::int64_t> suspended_{0};
};

// Runs like a server's clock, and can be moved in addition. Thread-safe.
class PassingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(passed_.load());
  }
  void advance(std::chrono::milliseconds by) noexcept { passed_ += by.count(); }

 private:
  std::atomic<std::int64_t> passed_{0};
};

// Gives `clock` to the system environment until it is destroyed, for code that takes no other one.
// Made before the first of that code and destroyed after the last.
class SystemClock {
 public:
  explicit SystemClock(Clock& clock) noexcept
      : before_(std::exchange(system_environment().clock, &clock)) {}
  ~SystemClock() { system_environment().clock = before_; }
  SystemClock(const SystemClock&) = delete;
  SystemClock& operator=(const SystemClock&) = delete;

 private:
  Clock* const before_;
};

// The same numbers for the same seed. Safe for several threads.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept override;
  // Uniform below `bound`, which is not zero.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::atomic<std::uint64_t> state_;
};

// The system's random numbers, or one number alone where a test sets it. Safe for several threads.
class SettableRandom final : public Random {
 public:
  std::uint64_t next() noexcept override;
  // Without a number: random ones again.
  void set(std::optional<std::uint64_t> number) noexcept;

 private:
  std::atomic<bool> is_set_{false};
  std::atomic<std::uint64_t> number_{0};
};

// Counts the failpoints that are reached and runs the actions that a test attached to them.
// Thread-safe.
class HookedFailpoints final : public Failpoints {
 public:
  void hit(std::string_view point) noexcept override;
  // Runs `action` each time `point` is reached, on the thread that reaches it.
  void on(std::string_view point, std::function<void()> action);
  std::size_t hits(std::string_view point) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> hits_;
  std::map<std::string, std::function<void()>, std::less<>> actions_;
};

// All three in one Environment.
class TestEnvironment {
 public:
  explicit TestEnvironment(std::uint64_t seed = 1) : random(seed) {}
  Environment& get() noexcept { return environment_; }

  ManualClock clock;
  SeededRandom random;
  HookedFailpoints failpoints;

 private:
  Environment environment_{&clock, &random, &failpoints};
};

// The seed of a property test: SEMEL_TEST_SEED where it is set, else a new one. Print it.
std::uint64_t test_seed();

}  // namespace semel::test
