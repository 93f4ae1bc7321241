// Mutex, its locks, and CondVar: std::mutex and std::condition_variable with annotations that Clang
// checks (thread_annotations.h), at the same cost. Code of src/ uses no bare std::mutex, so that no
// guarded field goes unchecked.
//
//   system::Mutex mutex_;
//   system::CondVar changed_;
//   std::deque<Job> jobs_ SEMEL_GUARDED_BY(mutex_);
//
//   const system::MutexLock lock(mutex_);
//   changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return !jobs_.empty(); });
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "system/thread_annotations.h"

namespace semel::system {

class SEMEL_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() SEMEL_ACQUIRE() { mutex_.lock(); }
  void unlock() SEMEL_RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() SEMEL_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex until the end of the block.
class SEMEL_SCOPED_CAPABILITY [[nodiscard]] MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SEMEL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a mutex that try_lock() has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t) SEMEL_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() SEMEL_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A lock that can release its mutex temporarily, for a call that must not be made with it held.
class SEMEL_SCOPED_CAPABILITY [[nodiscard]] RelockableLock {
 public:
  explicit RelockableLock(Mutex& mutex) SEMEL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~RelockableLock() SEMEL_RELEASE() {
    if (held_) mutex_.unlock();
  }
  RelockableLock(const RelockableLock&) = delete;
  RelockableLock& operator=(const RelockableLock&) = delete;

  void unlock() SEMEL_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() SEMEL_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Waits with the mutex released, and returns with it held. A predicate that reads guarded fields is
// a lambda with SEMEL_REQUIRES(mutex).
class CondVar {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) SEMEL_REQUIRES(mutex) {
    Held held(mutex);
    condition_.wait(held.lock);
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& time)
      SEMEL_REQUIRES(mutex) {
    Held held(mutex);
    return condition_.wait_until(held.lock, time);
  }

  // The check cannot see that the lock required by a predicate is the one held here.
  template <class Predicate>
  void wait(Mutex& mutex, Predicate predicate)
      SEMEL_REQUIRES(mutex) SEMEL_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    condition_.wait(held.lock, std::move(predicate));
  }
  // False: the time is over, and the predicate is still false.
  template <class Clock, class Duration, class Predicate>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& time,
                  Predicate predicate) SEMEL_REQUIRES(mutex) SEMEL_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    return condition_.wait_until(held.lock, time, std::move(predicate));
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& time, Predicate predicate)
      SEMEL_REQUIRES(mutex) SEMEL_NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex);
    return condition_.wait_for(held.lock, time, std::move(predicate));
  }

 private:
  // The caller's lock as std::condition_variable takes it; the caller still owns it.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace semel::system
