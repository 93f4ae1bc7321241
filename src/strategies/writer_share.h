// WriterShare: how long a call of a store takes by itself, when several threads call it at a time.
//
// Such calls wait for each other: for a single writer, or for the log and the processors of a
// server; a store does not say for how long. Calls that run at the same time are taken to share
// that time equally: each has as much to write as the others.
#pragma once

#include <chrono>
#include <cstddef>

#include <semel/environment.h>

#include "system/mutex.h"

namespace semel::strategies {

// Thread-safe. The clock is borrowed.
class WriterShare {
 public:
  explicit WriterShare(Clock& clock) noexcept : clock_(clock) {}

  // One call, from its beginning to end().
  class [[nodiscard]] Call {
   public:
    // `share` is borrowed; null: the call waits for nothing.
    explicit Call(WriterShare* share);
    ~Call() { (void)end(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Returns how long it has waited for others; zero once it has ended.
    std::chrono::nanoseconds end();

   private:
    using TimePoint = std::chrono::steady_clock::time_point;
    WriterShare* share_;
    TimePoint began_;
    std::chrono::nanoseconds own_at_begin_{0};
  };

 private:
  // Brings `own_` up to now.
  void advance(std::chrono::steady_clock::time_point now) SEMEL_REQUIRES(mutex_);

  Clock& clock_;
  system::Mutex mutex_;
  std::size_t calls_ SEMEL_GUARDED_BY(mutex_) = 0;  // that run now
  std::chrono::steady_clock::time_point at_ SEMEL_GUARDED_BY(mutex_);
  // The own time of a call that had run since the first one began.
  std::chrono::nanoseconds own_ SEMEL_GUARDED_BY(mutex_){0};
};

}  // namespace semel::strategies
