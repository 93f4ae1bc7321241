// FakeEnvironment: time that a test moves, and random numbers that are the same at each run.
//
//   semel::testkit::FakeEnvironment environment;
//   auto store = semel::make_memory_store({.environment = &environment.get()});
//   semel::Guard guard(*store, {.consumer = "payments", .environment = &environment.get()});
//   environment.clock.advance(std::chrono::minutes(2));  // every lease is over
//
// The kit is in the namespace `testkit`: a `semel::testing` would be ambiguous with GoogleTest's
// namespace after `using namespace semel`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <semel/environment.h>

namespace semel::testkit {

// Does not move until `advance` is called. Thread-safe.
class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() noexcept override {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(since_epoch_.load()));
  }
  std::chrono::nanoseconds elapsed() noexcept override {
    return now().time_since_epoch() + std::chrono::nanoseconds(suspended_.load());
  }
  void advance(std::chrono::nanoseconds by) noexcept { since_epoch_ += by.count(); }
  // The machine is suspended for so long: `elapsed` goes on and `now` does not.
  void suspend(std::chrono::nanoseconds time) noexcept { suspended_ += time.count(); }

 private:
  // Zero would hide a time that was never set.
  static constexpr std::chrono::nanoseconds kStart = std::chrono::hours(1);
  std::atomic<std::int64_t> since_epoch_{kStart.count()};
  std::atomic<std::int64_t> suspended_{0};
};

// The same numbers for the same seed. Thread-safe.
class FakeRandom final : public Random {
 public:
  explicit FakeRandom(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept override;
  // Begins again.
  void seed(std::uint64_t seed) noexcept { state_ = seed; }
  // Uniform below `bound`, which is not zero.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::atomic<std::uint64_t> state_;
};

// Outlives the stores and guards that it is given to.
class FakeEnvironment {
 public:
  explicit FakeEnvironment(std::uint64_t seed = 1) noexcept : random(seed) {}
  FakeEnvironment(const FakeEnvironment&) = delete;
  FakeEnvironment& operator=(const FakeEnvironment&) = delete;

  Environment& get() noexcept { return environment_; }

  FakeClock clock;
  FakeRandom random;

 private:
  Environment environment_{&clock, &random, nullptr};
};

}  // namespace semel::testkit
