// FairLock: the order in which the threads of one process come to the writer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace semel::sqlite {

// First come, first served. May be unlocked on another thread than it was locked on.
class FairLock {
 public:
  // False where the patience ran out.
  bool lock(std::chrono::microseconds patience);
  void unlock() noexcept;
  std::size_t waiting() const;

 private:
  struct Waiter {
    std::condition_variable turn;
    bool mine = false;
  };

  mutable std::mutex mutex_;
  std::deque<Waiter*> line_;
  bool held_ = false;
};

}  // namespace semel::sqlite
