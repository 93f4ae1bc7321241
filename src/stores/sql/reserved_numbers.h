// ReservedNumbers: the positions that a process has reserved by locks of its presence's session,
// and those whose locks are still to be given back there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "system/mutex.h"

namespace semel::sql {

// Thread-safe.
class ReservedNumbers {
 public:
  // A session may take its own lock as often as it likes, so the server cannot answer this.
  bool contains(std::int64_t number) const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return reserved_.contains(number);
  }
  void add(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    reserved_.insert(number);
  }
  // Its lock stays on the server until someone has taken the freed ones.
  void free(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    reserved_.erase(number);
    if (lost_.erase(number) == 0) freed_.push_back(number);
  }
  std::vector<std::int64_t> take_freed() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return std::exchange(freed_, {});
  }
  // Another process took its lock while none of this one's sessions held it. It is so until it is
  // freed, also where that process ends: what it has read meanwhile is not known here.
  void lose(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    lost_.insert(number);
  }
  bool lost(std::int64_t number) const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return lost_.contains(number);
  }
  // A new session holds no locks. Returns the numbers to lock on it.
  std::set<std::int64_t> begin_session() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    freed_.clear();
    std::set<std::int64_t> held;
    std::ranges::set_difference(reserved_, lost_, std::inserter(held, held.end()));
    return held;
  }

 private:
  mutable system::Mutex mutex_;
  std::set<std::int64_t> reserved_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::int64_t> lost_ SEMEL_GUARDED_BY(mutex_);      // of those
  std::vector<std::int64_t> freed_ SEMEL_GUARDED_BY(mutex_);  // and locked on the server
};

}  // namespace semel::sql
