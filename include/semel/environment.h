// Environment: time, chance and faults, injected, so that a run is a seed and every step can fail.
#pragma once

#include <chrono>
#include <cstdint>

#include <semel/standard.h>

namespace semel {

// Steady time, for durations within the process. The store decides what has expired in it.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() noexcept = 0;
  // The time since some beginning, including that for which this machine was suspended: for the
  // time that passes in a store or on another machine, such as the rest of a lease. A Clock without
  // an answer of its own is never suspended.
  virtual std::chrono::nanoseconds elapsed() noexcept { return now().time_since_epoch(); }
};

// Uniform random bits. Production draws from the kernel; safe for several threads.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() noexcept = 0;
};

class Failpoints;  // spi/failpoints.h

// Borrowed: all three outlive the store, Guard or Runner that is given them.
struct Environment {
  Clock* clock;            // never null
  Random* random;          // never null
  Failpoints* failpoints;  // null: none
};

// The real clock, the kernel's randomness, and no failpoints. The same object at each call; only a
// test changes it, before the first store, source or consumer exists.
Environment& system_environment() noexcept;

}  // namespace semel
