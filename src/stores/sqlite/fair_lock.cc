#include "stores/sqlite/fair_lock.h"

#include <algorithm>

namespace semel::sqlite {

bool FairLock::lock(std::chrono::microseconds patience) {
  const system::MutexLock lock(mutex_);
  if (!held_) {
    held_ = true;
    return true;
  }
  Waiter waiter;
  line_.push_back(&waiter);
  if (waiter.turn.wait_for(mutex_, patience, [&]() SEMEL_REQUIRES(mutex_) { return waiter.mine; }))
    return true;
  line_.erase(std::ranges::find(line_, &waiter));
  return false;
}

void FairLock::unlock() noexcept {
  const system::MutexLock lock(mutex_);
  if (line_.empty()) {
    held_ = false;
    return;
  }
  // Handed over, not released: a newcomer cannot overtake.
  Waiter* const next = line_.front();
  line_.pop_front();
  next->mine = true;
  next->turn.notify_one();
}

std::size_t FairLock::waiting() const {
  const system::MutexLock lock(mutex_);
  return line_.size();
}

}  // namespace semel::sqlite
