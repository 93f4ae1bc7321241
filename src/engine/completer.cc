#include "engine/completer.h"

#include <utility>

namespace semel::engine {

void ThreadCompleter::post(std::function<void()> work) {
  // Notify with the lock held: once it is released, the work may end and this object may be
  // destroyed before notify_one() returns.
  const system::MutexLock lock(mutex_);
  work_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  wake_.notify_one();
}

void ThreadCompleter::end() noexcept {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ThreadCompleter::loop() {
  system::RelockableLock lock(mutex_);
  for (;;) {
    wake_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    std::vector<std::function<void()>> work;
    work.swap(work_);
    lock.unlock();
    begins_();
    for (const auto& one : work) one();
    recorded_();
    lock.lock();
  }
}

}  // namespace semel::engine
