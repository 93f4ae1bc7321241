// Environment: time, chance and faults, injected, so that a run is a seed and every step can fail.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <semel/standard.h>

namespace semel {

// Steady time, for durations within the process. What expires in a store is decided by the store.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() noexcept = 0;
};

// Uniform random bits. Production draws from the kernel; safe for several threads.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() noexcept = 0;
};

// Named points on a message's way at which a test may stop, delay or kill the process. The library
// implements none: a test does (tests/support/failpoints.h).
class Failpoints {
 public:
  virtual ~Failpoints() = default;
  // Called when a thread passes `point`, from any thread.
  virtual void hit(std::string_view point) noexcept = 0;
};

struct Environment {
  Clock* clock;            // never null
  Random* random;          // never null
  Failpoints* failpoints;  // null: none
};

// The real clock, the kernel's randomness, and no failpoints. The same object at each call; only a
// test changes it, before the first store, source or consumer exists.
Environment& system_environment() noexcept;

// The points, in the order a message meets them. The crash matrix runs through all of them.
namespace failpoint {
inline constexpr std::string_view kReceived = "received";
inline constexpr std::string_view kBegun = "begun";
inline constexpr std::string_view kClaimed = "claimed";
inline constexpr std::string_view kHandlerBefore = "handler.before";
// Of a message with steps: its journal has a step's result, or that it is undone, or not yet.
inline constexpr std::string_view kStepBefore = "step.before";
inline constexpr std::string_view kStepAfter = "step.after";
inline constexpr std::string_view kHandlerAfter = "handler.after";
inline constexpr std::string_view kFlushed = "flushed";
inline constexpr std::string_view kConfirmed = "confirmed";
inline constexpr std::string_view kFinished = "finished";
inline constexpr std::string_view kCommitBefore = "commit.before";
inline constexpr std::string_view kCommitAfter = "commit.after";
// Between the steps of a finish whose parts are on several nodes of a Redis Cluster.
inline constexpr std::string_view kMarked = "cluster.marked";
inline constexpr std::string_view kKept = "cluster.kept";
inline constexpr std::string_view kRecorded = "cluster.recorded";
inline constexpr std::string_view kSettleBefore = "settle.before";
inline constexpr std::string_view kSettleAfter = "settle.after";
inline constexpr std::string_view kDrained = "drained";
inline constexpr std::string_view kAll[] = {
    kReceived,     kBegun,    kClaimed,     kHandlerBefore, kStepBefore,   kStepAfter,
    kHandlerAfter, kFlushed,  kConfirmed,   kFinished,      kCommitBefore, kMarked,
    kKept,         kRecorded, kCommitAfter, kSettleBefore,  kSettleAfter,  kDrained};

inline void hit(const Environment& environment, std::string_view point) noexcept {
  if (environment.failpoints != nullptr) [[unlikely]]
    environment.failpoints->hit(point);
}
}  // namespace failpoint

}  // namespace semel
