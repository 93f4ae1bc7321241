// FairLock: the order in which threads of one process get the writer.
#pragma once

#include <chrono>
#include <deque>

#include "system/mutex.h"

namespace semel::sqlite {

// First come, first served. May be unlocked on another thread than it was locked on.
class FairLock {
 public:
  // False where the patience ran out.
  bool lock(std::chrono::microseconds patience) SEMEL_EXCLUDES(mutex_);
  void unlock() noexcept SEMEL_EXCLUDES(mutex_);
  std::size_t waiting() const SEMEL_EXCLUDES(mutex_);

 private:
  struct Waiter {
    system::CondVar turn;
    bool mine = false;
  };

  mutable system::Mutex mutex_;
  std::deque<Waiter*> line_ SEMEL_GUARDED_BY(mutex_);
  bool held_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::sqlite
