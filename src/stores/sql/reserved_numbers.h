// ReservedNumbers: the positions that a process has reserved by locks of its instance lock's
// session, and those whose locks must still be released there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "system/mutex.h"

namespace semel::sql {

// Thread-safe.
class ReservedNumbers {
 public:
  // A session may take its own lock repeatedly, so the server cannot answer this.
  bool contains(std::int64_t number) const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return reserved_.contains(number);
  }
  // The current session has its lock.
  void add(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    reserved_[number] = session_;
  }
  // The current session has it now, in place of an earlier session of this process.
  void move(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    const auto reserved = reserved_.find(number);
    if (reserved != reserved_.end()) {
      reserved->second = session_;
    } else {
      freed_.push_back(number);  // freed while it was moved
    }
  }
  // Its lock stays on the server until the freed numbers are released there.
  void free(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    reserved_.erase(number);
    if (lost_.erase(number) == 0) freed_.push_back(number);
  }
  std::vector<std::int64_t> take_freed() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return std::exchange(freed_, {});
  }
  // Another process took its lock while none of this one's sessions held it. It stays lost until it
  // is freed, even if that process ends: what that process has read meanwhile is not known here.
  void lose(std::int64_t number) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    if (reserved_.contains(number)) lost_.insert(number);
  }
  bool lost(std::int64_t number) const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return lost_.contains(number);
  }
  // A new session holds no locks. `session`: its unique name on the server.
  void begin_session(std::string session) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    freed_.clear();
    session_ = std::move(session);
  }
  // The numbers that must still be locked on the current session, each with the session that had
  // its lock: the server may not have noticed yet that it was cut off.
  std::map<std::int64_t, std::string> elsewhere() const SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    std::map<std::int64_t, std::string> numbers;
    for (const auto& [number, session] : reserved_) {
      if (session != session_ && !lost_.contains(number)) numbers.emplace(number, session);
    }
    return numbers;
  }

 private:
  mutable system::Mutex mutex_;
  std::string session_ SEMEL_GUARDED_BY(mutex_);
  // With the sessions that have, or had, their locks.
  std::map<std::int64_t, std::string> reserved_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::int64_t> lost_ SEMEL_GUARDED_BY(mutex_);      // of those
  std::vector<std::int64_t> freed_ SEMEL_GUARDED_BY(mutex_);  // but still locked on the server
};

}  // namespace semel::sql
