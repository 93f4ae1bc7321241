// SharedMutex and its locks: std::shared_mutex with the annotations of thread_annotations.h. Code
// of src/ uses no bare one.
#pragma once

#include <shared_mutex>

#include "system/thread_annotations.h"

namespace semel::system {

class SEMEL_CAPABILITY("shared mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() SEMEL_ACQUIRE() { mutex_.lock(); }
  void unlock() SEMEL_RELEASE() { mutex_.unlock(); }
  void lock_shared() SEMEL_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() SEMEL_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds the mutex together with other readers, until the end of the block.
class SEMEL_SCOPED_CAPABILITY [[nodiscard]] ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) SEMEL_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() SEMEL_RELEASE() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Holds the mutex exclusively, until the end of the block.
class SEMEL_SCOPED_CAPABILITY [[nodiscard]] WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) SEMEL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() SEMEL_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace semel::system
